"""Three rooms: nothing in the library imports the laboratory or robots, and they import what is public.

The rooms are still folders and files of one package; `ROOMS` says which will lie where.
"""

import ast
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

import replan
from replan import robots

SOURCE = Path(replan.__file__).parent
ROOMS = {  # first match; everything else is the library
    "lab": (
        *("study/*", "results/*", "suite/*", "report/*", "explore/*"),
        *(f"commands/{name}" for name in ("study", "reproduce", "benchmark", "explore", "engine_options")),
    ),
    "robots": (
        *("robots", "robots/*", "worlds/cell_map", "worlds/map_*", "worlds/wind*", "worlds/field*"),
        *("worlds/vector_field", "worlds/vehicle_in_field", "worlds/flow_grid"),
        *(f"commands/{name}" for name in ("fly", "ros", "recordings")),
    ),
}
SHARED = {"replan.errors", "replan.typing", "replan.commands", "replan.environments"}
MODULES = {
    ".".join(("replan", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}
PUBLIC = {("replan", name) for name in (*replan.__all__, "__version__")}
PUBLIC |= {("replan.robots", name) for name in robots.__all__}
# What is imported past the public interface, by the step that removes it. The lists only shrink.
PAST = {
    "laboratory": {
        "replan": "*module* explore",
        "replan.certificates.legs": "times_taken",
        "replan.estimate.drift_bounds": "MISSPECIFICATIONS",
        "replan.model.drift": "GREATEST_SLIP",
        "replan.model.grid_map": "GridMap",
        "replan.model.streams": "WORLD",
        "replan.planning.optimal_values": "Oracle oracle_return",
        "replan.schedule.drift_threshold": "PACE_WEIGHTS SelfTriggered",
        "replan.schedule.lazy_value": "LazyValue lazy_score",
        "replan.schedule.measuring_value": "MeasuringValue",
        "replan.schedule.periodic": "BestOffset Even offset_candidates periodic_times",
        "replan.schedule.registry": (
            "RuleSource imported_files list_parameters parse_parameters registered_rule rule_parameters "
        ),
        "replan.schedule.regret_guided": "ALPHAS CHOSEN_FAMILIES DIAMETERS MS",
        "replan.skip.spending": "FIRST_UPDATE",
        "replan.worlds": "settings",
        "replan.worlds.mars_rover": "LinearDrift PiecewiseDrift Rover SinusoidalDrift",
        "replan.worlds.ns_bridge": "NSBridge PAYS",
    },
    "commands": {
        "replan.commands.options": "RobotOptions SetOption SpendingOptions flat_command",
    },
    "one programme": {
        "replan.evaluation.agent_runs": "AgentRun learned_samples",
        "replan.evaluation.exact": "Steps schedule_key",
        "replan.evaluation.optimal_schedule": "feedback_regrets",
        "replan.evaluation.rollouts": "HALF_INTERVAL Rollouts draws_times oracle_rollout sampled_regret",
        "replan.evaluation.scale": "BudgetCurve NEXT_TO_NOTHING RegretScale never_updating",
        "replan.evaluation.visits": "Follow",
        "replan.execute.mission": "make_timeline",
    },
    "robot parameters": {
        "replan.skip.latency": "INSTANT read_durations",
        "replan.worlds.estimators": (
            "ESTIMATORS EXACT_ESTIMATORS FOR_LOCALISED TRACKED TRUE_KERNEL "
            "check_estimator usual_estimator with_estimator "
        ),
        "replan.worlds.forecasts": "ForecastKind ForecastParameters named_forecast",
        "replan.worlds.parameters": "Fraction builtin_names one_line parse_toml read_toml",
        "replan.worlds.robot_words": "as_durations check_steps describe_latency plain_steps",
        "replan.worlds.settings": (
            "FAMILIES FILES PAPER_SETTINGS SPENDING parse_setting replace_spending setting_type "
        ),
    },
    "robots": {
        "replan.commands.options": "ExecutionOption RuleOption SeedOption SetOption",
        "replan.evaluation.agent_runs": "AgentRun",
        "replan.estimate.estimator": "Learned",
        "replan.execute.deadline": "DeadlineExceeded Work Worker",
        "replan.execute.saved_agent": "read_attached",
        "replan.model.sizes": "require_memory",
        "replan.schedule.registry": "parse_parameters",
        "replan.worlds.forecasts": "ForecastParameters",
    },
}


def room(module):
    """The room in which a module will lie."""
    place = "/".join(module.split(".")[1:])
    found = (name for name, parts in ROOMS.items() if any(fnmatch(place, part) for part in parts))
    return next(found, "library")


def imported(path):
    """(module, name) of every import from replan in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "replan")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "replan":
            yield from ((node.module, alias.name) for alias in node.names)


def crossings():
    """(room, other room, module, name) of every name that is imported from another room and not public."""
    for module, path in MODULES.items():
        for source, name in imported(path):
            inside = f"{source}.{name}"
            there = room(inside if inside in MODULES else source)
            public = source in SHARED or (source, name) in PUBLIC
            if there != room(module) and not (public and there != "lab" and room(module) != "library"):
                yield room(module), there, source, name


def test_the_library_imports_nothing_of_the_other_rooms():
    assert not [each for each in crossings() if each[0] == "library"]


def test_what_is_imported_past_the_public_interface_is_listed_and_only_shrinks():
    names = [each for part in PAST.values() for each in part.items()]
    listed = {(module, name) for module, text in names for name in text.split()}
    found = {(module, name or "*module*") for _, _, module, name in crossings()}
    assert found - listed == set(), "not public"
    assert listed - found == set(), "no longer imported: take it off the list"


def test_there_are_at_most_110_public_names():
    from replan import commands, environments

    assert len(replan.__all__) + 5 + len(environments.__all__) <= 110
    assert commands.__doc__


@pytest.mark.parametrize("arguments", [["--version"], ["regret", "two-burst", "--times", "1,17,33,49"]])
def test_a_command_of_the_library_loads_nothing_of_the_other_rooms(arguments):
    script = f"from replan.cli import run; run({arguments!r}); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name in MODULES}
    assert not {name for name in loaded if room(name) != "library"}
