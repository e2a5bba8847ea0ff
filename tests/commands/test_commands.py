"""The command line as a user meets it: one JSON object, or one line and exit status 2."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from replan import DriftThreshold, evaluate, load_setting, make_mission
from replan.cli import run
from replan.commands.budget import OptimumAnswer
from replan.commands.missions import NamedMission
from replan.commands.options import RobotOptions
from replan.evaluation.optimal_schedule import Optimum
from replan.evaluation.rollouts import sampled_regret
from replan.evaluation.scale import RegretScale
from replan.planning.ties import Ties
from replan.report.reports import paper_rules
from replan.schedule.periodic import Periodic
from replan.worlds.settings import PAPER_SETTINGS
from study_runs import computed


@pytest.fixture
def replan(capsys):
    """Run a command; its status, output and errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(list(arguments))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def answer(replan):
    """Run a command that must succeed; its JSON object."""

    def call(*arguments: str) -> dict:
        status, out, err = replan(*arguments, "--json")
        assert (status, err) == (0, "")
        assert out.count("\n") == 1
        return json.loads(out)

    return call


@pytest.mark.parametrize(("execution", "regret"), [("map", 0.772), ("belief", 0.138)])
def test_regret_of_given_times(answer, execution, regret):
    found = answer("regret", "two-burst", "--times", "1,17,33,49", "--execution", execution)
    assert found["regret"] == pytest.approx(regret, abs=5e-4)
    assert found["times"] == [1, 17, 33, 49]
    assert found["oracle_return"] - found["return"] == pytest.approx(found["regret"])
    assert sum(step["loss"] for step in found["steps"]) == pytest.approx(found["regret"])
    kinds = {step["t"]: step["kind"] for step in found["steps"]}
    assert kinds[0] == "start" and [t for t, kind in kinds.items() if kind == "update"] == found["times"]
    assert found["dynamic_regret"] >= found["regret"] - 1e-12


def test_regret_by_rollouts(answer):
    found = answer("regret", "two-burst", "--times", "1,17,33,49", "--rollouts", "400", "--seed", "3")
    sampled = found["rollouts"]
    assert sampled["n"] == 400
    assert abs(sampled["regret"] - found["regret"]) < 4 * sampled["standard_error"]


def test_the_figure_after_the_sign_is_half_a_95_percent_interval(answer, replan):
    """In 4,000 samples of 50 numbers the true mean lies within it as often as it should."""
    arguments = "regret", "two-burst", "--times", "1,17,33,49", "--rollouts", "400"
    sampled = answer(*arguments)["rollouts"]
    (line,) = (line for line in replan(*arguments)[1].splitlines() if line.startswith("sampled"))
    shown = f"{sampled['regret']:.4f} +- {1.96 * sampled['standard_error']:.4f}"
    assert line.split(maxsplit=1)[1] == f"{shown}   (mean of 400 rollouts, 95 % interval)"
    draws = np.random.default_rng(0).normal(size=(4_000, 50))
    means = [sampled_regret(row, np.zeros(50)) for row in draws]
    assert np.mean([abs(each.regret) < each.margin for each in means]) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(
    "command",
    [
        ("regret", "--rule", "periodic"),
        ("schedule", "--rule", "periodic"),
        ("explain", "--rule", "periodic"),
        ("budget", "--rule", "periodic", "--most", "2"),
        ("optimum",),
        ("certify", "--rule", "periodic"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_that_runs_a_mission_takes_a_tie_rule(answer, replan, command):
    name, *options = command
    assert answer(name, "nsbridge-05", *options)["ties"] == "first"
    assert answer(name, "nsbridge-05", *options, "--ties", "last")["ties"] == "last"
    assert answer(name, "nsbridge-05", *options, "--ties", "random")["ties"] == "random(0)"
    status, out, err = replan(name, "nsbridge-05", *options, "--ties", "stay")
    assert (status, out) == (2, "") and 'ties must be "first", "last" or "random(SEED)"' in err


def test_a_tie_rule_on_the_command_line_is_that_of_a_setting(answer, tmp_path):
    asked = answer("regret", "two-burst", "--rule", "periodic", "--ties", "last")["regret"]
    robot = make_mission(load_setting("two-burst")).robot
    mission = replace(make_mission(load_setting("two-burst")), robot=replace(robot, ties=Ties("last")))
    assert asked == pytest.approx(evaluate(mission, Periodic()).regret) == pytest.approx(1.3442, abs=5e-5)
    compared = answer(
        "compare", "periodic", "--settings", "two-burst", "--ties", "last", "--out", str(tmp_path)
    )
    (row,) = compared["settings"]
    assert row["ties"] == "last" and row["results"][0]["regret"] == pytest.approx(asked)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Between updates the robot acts by the likeliest cell. Ties: first action."),
        (("--ties", "random(3)", "--execution", "belief"), "Ties: an action at random (seed 3)."),
        (("--update-steps", "2"), "Updates take 2 steps; until then the robot follows its old plan."),
        (("--update-steps", "1:0.5,2:0.5"), "Updates take 1 or 2 steps (0.5, 0.5); until then the robot"),
        (("--forecast", "trend"), "Ties: first action. Forecast: trend."),
    ],
)
def test_the_robot_is_described_in_sentences(replan, options, said):
    assert said in replan("regret", "nsbridge-05", "--rule", "periodic", *options)[1].splitlines()[-1]


SAME = "replanning makes no difference here (never updating loses 2e-06)"


@pytest.mark.parametrize(
    "command",
    [
        ("regret", "--rule", "last-moment"),
        ("schedule", "--rule", "last-moment"),
        ("explain", "--rule", "last-moment"),
        ("budget", "--rule", "last-moment", "--most", "2"),
        ("optimum",),
    ],
    ids=lambda command: command[0],
)
def test_an_answer_on_a_mission_where_never_updating_loses_nothing_says_so(answer, replan, command):
    name, *options = command
    asked = name, "alternating", *options, "--execution", "localised"
    assert answer(*asked)["makes_a_difference"] is False
    out = replan(*asked)[1]
    assert SAME in out and "%" not in out
    asked = name, "alternating", *(["--rule", "periodic"] if options else [])  # a blind robot
    assert answer(*asked)["makes_a_difference"] is True and "no difference" not in replan(*asked)[1]


def test_a_comparison_marks_no_winner_where_never_updating_loses_nothing(answer, replan, tmp_path):
    asked = "compare", "last-moment", "even", "--execution", "localised", "--out", str(tmp_path)
    found = answer(*asked, "--settings", "alternating,thin-ice-mild")
    assert [row["makes_a_difference"] for row in found["settings"]] == [False, True]
    assert [row["results"][0]["regret_share"] is None for row in found["settings"]] == [True, False]
    out = replan(*asked, "--settings", "alternating,thin-ice-mild")[1]
    (same,) = (line for line in out.splitlines() if line.startswith("│ alternating"))
    (other,) = (line for line in out.splitlines() if line.startswith("│ thin-ice-mild"))
    assert "**" not in same and "**" in other and "No winner is marked where" in out
    page = (tmp_path / "report.html").read_text()
    assert "in 1 of 2 settings" in page and "No winner is marked where" in page
    assert replan(*asked, "--settings", "alternating")[0] == 0
    page = (tmp_path / "report.html").read_text()
    assert "Replanning makes no difference here: no rule loses anything worth counting." in page
    (table,) = re.findall(r'<table id="regrets".*?</table>', page, re.DOTALL)
    assert "<strong>" not in table


def test_a_rule_has_its_default_parameters_and_the_answer_says_so(answer, replan):
    arguments = "regret", "two-burst", "--rule", "drift-threshold"
    found = answer(*arguments)
    assert found["parameters"] == vars(DriftThreshold())
    assert found["default_parameters"] == ["threshold", "pace_weight"] and "validation" not in found
    assert "(default parameters; --set gives others)" in replan(*arguments)[1]
    one = "--set", "threshold=0.1"
    assert answer(*arguments, *one)["default_parameters"] == ["pace_weight"]
    assert "(the other parameters are its defaults)" in replan(*arguments, *one)[1]
    both = (*one, "--set", "pace_weight=0")
    given = answer(*arguments, *both)
    assert given["parameters"] == {"threshold": 0.1, "pace_weight": 0.0} and not given["default_parameters"]
    _, out, _ = replan(*arguments, *both, "--verbose")
    assert out.startswith("rule            drift-threshold, threshold 0.1, pace_weight 0\n")
    assert not replan("regret", "two-burst", "--times", "1,17,33,49")[1].startswith("rule")


def test_regret_of_periodic_is_that_of_its_times(answer):
    assert answer("regret", "two-burst", "--rule", "periodic")["regret"] == pytest.approx(0.7715, abs=1e-4)


def test_a_rule_that_draws_has_an_exact_value_and_times_of_a_seed(answer, replan):
    one, other = (answer("regret", "two-burst", "--rule", "random", "--seed", seed) for seed in ("0", "1"))
    assert one["regret"] == other["regret"] and one["times"] != other["times"]
    assert other["times_note"] == "one draw, seed 1; the regret is the mean over all draws"
    assert "(one draw, seed 1;" in replan("regret", "two-burst", "--rule", "random", "--seed", "1")[1]
    assert "times_note" not in answer("regret", "two-burst", "--rule", "periodic")


def test_a_dynamic_regret_that_is_not_computed_says_why(answer, tmp_path):
    assert "dynamic_regret_note" not in answer("regret", "two-burst", "--rule", "periodic")
    text = 'world = "rover"\nn = 51\nhorizon = 6\nplanning_horizon = 2\nbudget = 2\n'
    (tmp_path / "wide.toml").write_text(text + '[drift]\nkind = "linear"\nslip = 0.1\nrate = 0.02\n')
    found = answer("regret", str(tmp_path / "wide.toml"), "--rule", "periodic")
    assert found["dynamic_regret"] is None and "more than 2500 states" in found["dynamic_regret_note"]


@pytest.mark.parametrize("setting", PAPER_SETTINGS)
def test_every_rule_spends_exactly_its_budget(answer, setting):
    from replan import load_setting

    horizon, budget = load_setting(setting).horizon, load_setting(setting).budget
    quick = {"regret-guided": ["--set", "alpha=0.9", "--set", "m=3", "--set", "score=drift"]}
    for name in paper_rules():
        found = answer("schedule", setting, "--rule", name, *quick.get(name, []))
        assert len(set(found["times"])) == budget and found["times"][0] == 1 and found["times"][-1] < horizon
        assert [row["t"] for row in found["decisions"] if row["update"]] == found["times"]


def test_regret_guided_gives_the_terms_of_each_decision(answer):
    found = answer("schedule", "two-burst", "--rule", "regret-guided", "--set", "score=gap+drift")
    scored = [row for row in found["decisions"] if row["terms"]]
    assert {name for row in scored for name in row["terms"]} == {"residual", "immediate", "accumulated"}
    for row in scored:
        assert sum(row["terms"].values()) == pytest.approx(row["score"])


def test_a_schedule_tells_each_term_once(replan):
    settings = "--set", "score=gap+drift", "--set", "alpha=0.3", "--set", "m=3", "--set", "diameter=0"
    _, out, _ = replan("schedule", "two-burst", "--rule", "regret-guided", *settings)
    lines = [line for line in out.splitlines() if "reaches" in line]
    assert lines and all(line.count("accumulated") == 1 for line in lines)
    _, out, _ = replan("schedule", "two-burst", "--rule", "self-triggered", "--set", "threshold=0.1")
    assert "score 0.1088 reaches 0.1: forecast drift\n" in out
    assert "budget forces an update: 1 left, 1 step to go   (drift 0.0784)" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["regret", "two-burst", "--times", "1,17,33"], "3 update times given, but the budget is 4"),
        (["regret", "two-burst", "--times", "1,17,17,33"], "update time 17 is repeated"),
        (["regret", "two-burst", "--times", "1,17,33,50"], "update time 50 lies outside 1 to 49"),
        (["regret", "two-burst", "--times", "2,17,33,49"], "the first update is at 1, not 2"),
        (["regret", "two-burst", "--times", "1;2"], "--times takes whole numbers"),
        (["regret", "two-burst"], "give either --times or --rule"),
        (
            ["regret", "two-burst", "--times", "1,2,3,4", "--rule", "periodic"],
            "give either --times or --rule",
        ),
        (["regret", "two-burst", "--rule", "perodic"], "did you mean periodic?"),
        (["regret", "two-burst", "--rule", "periodic", "--set", "x=1"], "periodic has no parameter 'x'"),
        (
            ["regret", "two-burst", "--rule", "periodic", "--execution", "psychic"],
            "Invalid value for '--execution': 'psychic' is not one of",
        ),
        (["regret", "two-burst", "--rule", "periodic", "--rollouts", "1"], "Invalid value for '--rollouts'"),
        (["regret", "no-such-setting", "--rule", "periodic"], "neither a TOML file nor a built-in setting"),
        (["regret"], "Missing argument"),
        (["fly-to-the-moon"], "No such command"),
        (["regret", "two-burst", "--bogus"], "No such option"),
        (["reproduce", "table9"], "there is no part 'table9'"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(replan, arguments, said):
    status, out, err = replan(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("replan: ") and err.count("\n") == 1 and said in err


def test_a_broken_file_is_one_line_and_exit_status_2(replan, tmp_path):
    (tmp_path / "broken.toml").write_text("world = ")
    assert replan("regret", str(tmp_path / "broken.toml"), "--rule", "periodic")[0] == 2
    np.savez(tmp_path / "w.npz", kernels=np.full((2, 1, 2), np.nan), rewards=np.zeros(2))
    text = 'world = "arrays"\nfile = "w.npz"\nhorizon = 4\nplanning_horizon = 2\nbudget = 1\n'
    (tmp_path / "own.toml").write_text(text)
    status, _, err = replan("regret", str(tmp_path / "own.toml"), "--rule", "periodic")
    assert status == 2 and "not a number at t=0, s=0, a=0" in err


def test_help_is_shown_without_a_command(replan):
    status, out, _ = replan()
    assert status == 0 and "regret" in out and "reproduce" in out


FRESH = """
import sys, replan
assert replan.__version__
from replan import Agent, Mission, World, FixedTimes, evaluate_times
heavy = {"numba", "matplotlib", "plotly", "scipy", "pydantic", "duckdb", "gymnasium"} & set(sys.modules)
assert not heavy, heavy
"""


def test_import_loads_nothing_heavy():
    subprocess.run([sys.executable, "-c", FRESH], check=True)


READ_ONLY = """
import numpy as np
from replan.model.slip import SlipKernel
print(SlipKernel((3, 3), 0.1).expect(np.arange(9.0)).sum())
"""


def test_a_machine_that_can_write_nowhere_still_runs(tmp_path):
    """The package in a folder, a home and a temporary folder that cannot be written."""
    import shutil
    from pathlib import Path

    import replan

    package = tmp_path / "site" / "replan"
    shutil.copytree(Path(replan.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    home = tmp_path / "home"
    home.mkdir()
    nowhere = {
        "HOME": "/proc/self/nowhere",
        "TMPDIR": "/proc/self/nowhere",
        "XDG_CACHE_HOME": "/proc/self/nowhere",
    }
    (package / "model" / "__pycache__").write_text("a file where the cache folder would be")
    environment = {**os.environ, **nowhere, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(180.0)


def test_optimum(answer):
    found = answer("optimum", "two-burst")
    assert found["fixed"]["regret"] == pytest.approx(0.353, abs=5e-4) and found["fixed"]["label"] == "optimal"
    assert found["feedback"]["regret"] == pytest.approx(0.340, abs=5e-4)
    given = answer("regret", "two-burst", "--times", ",".join(str(t) for t in found["fixed"]["times"]))
    assert given["regret"] == pytest.approx(found["fixed"]["regret"], abs=1e-8)
    belief = answer("optimum", "two-burst", "--execution", "belief")
    assert belief["feedback"]["regret"] == pytest.approx(0.094, abs=5e-4)


def test_no_regret_is_printed_as_zero_without_a_sign():
    named = NamedMission.of("two-burst", RobotOptions())
    nothing = Optimum(-1.0, (1, 2), -1e-16, True, -1e-16, 2.0, named.mission.spending)
    out = "\n".join(OptimumAnswer(named, nothing, RegretScale(1.0, least=0.1)).lines())
    assert out.count(" 0.0000 ") == 2 and "-0.0" not in out


def test_a_robot_that_sees_and_loses_nothing_has_a_regret_without_a_sign(capsys):
    options = ["thin-ice-medium", "--rule", "last-moment", "--forecast", "given", "--execution", "localised"]
    assert run(["regret", *options]) == 0
    out = capsys.readouterr().out
    assert "regret          0.0000: " in out and "-0.0" not in out


def test_a_robot_that_sees_spends_all_of_its_budget_by_the_rules_of_the_paper_alone(answer):
    seeing = "thin-ice-medium", "--execution", "localised"
    assert answer("regret", *seeing, "--times", "5,9")["spend_all"] is False
    assert answer("regret", *seeing, "--rule", "even")["spend_all"] is False
    assert answer("regret", *seeing, "--rule", "periodic")["spend_all"] is True
    assert answer("optimum", *seeing)["spend_all"] is False
    assert answer("regret", "thin-ice-medium", "--rule", "periodic")["spend_all"] is True


def test_lookahead_is_close_to_the_optimum(answer):
    assert answer("regret", "two-burst", "--rule", "lookahead")["regret"] <= 0.345


def test_explain_adds_up(answer):
    found = answer("explain", "two-burst", "--rule", "periodic")
    assert sum(found["parts"].values()) == pytest.approx(found["regret"])
    assert found["regret"] == pytest.approx(0.7715, abs=1e-4)
    assert len(found["combinations"]) == 8


def test_certify(answer):
    found = answer("certify", "two-burst", "--rule", "periodic")
    assert found["regret"] == pytest.approx(0.7715, abs=1e-4)
    assert found["regret"] <= found["certificate"] <= 2.66
    assert found["theorem"]["total"] > 1000 and sum(found["theorem"]["terms"].values()) == pytest.approx(
        found["theorem"]["total"]
    )
    assert 0 < found["theorem"]["alpha"] < 1 and found["theorem"]["m"] >= 1


def test_a_rule_that_draws_its_times_is_certified_by_the_times_of_one_mission(answer, replan):
    times = answer("schedule", "two-burst", "--rule", "random", "--seed", "2")["times"]
    _, drawn, _ = replan("certify", "two-burst", "--rule", "random", "--seed", "2")
    _, fixed, _ = replan("certify", "two-burst", "--times", ",".join(str(t) for t in times))
    assert drawn.startswith(fixed.partition("Between updates")[0])
    said = drawn.removeprefix(fixed)
    assert f"updating at {', '.join(str(t) for t in times)}, as the mission with seed 2 does" in said


@pytest.fixture
def small_setting(tmp_path):
    """A 4 x 4 grid whose slip climbs."""
    path = tmp_path / "small.toml"
    drift = '[drift]\nkind = "linear"\nslip = 0.05\nrate = 0.03\n'
    path.write_text(f'world = "rover"\nn = 4\nhorizon = 12\nplanning_horizon = 4\nbudget = 2\n{drift}')
    return str(path)


def test_a_certificate_without_the_structure_is_looser_and_says_what_it_assumes(answer, small_setting):
    found = answer("certify", small_setting, "--rule", "periodic")
    boxes = answer("certify", small_setting, "--rule", "periodic", "--boxes")
    assert boxes["certificate"] > found["certificate"] >= found["regret"] == boxes["regret"]
    assert any("one slip" in line for line in found["assumed"])
    assert not any("one slip" in line for line in boxes["assumed"])


def test_a_robot_that_learns_is_certified_from_its_observations(answer, replan, small_setting, tmp_path):
    seen = tmp_path / "seen.csv"
    seen.write_text("t,s,a,next\n" + "0,0,0,1\n" * 400)
    given = ("certify", small_setting, "--times", "1,5", "--observations", str(seen))
    found = answer(*given, "--delta", "0.1")
    assert (found["estimates"], found["probability"]) == ("learned", pytest.approx(0.9))
    assert found["certificate"] >= found["regret"] > 0
    for wrong in (("--times", "1,5", "--delta", "0.1"), ("--rule", "periodic", "--observations", str(seen))):
        assert replan("certify", small_setting, *wrong)[0] == 2


def test_estimate_without_sizes_names_the_command_for_logs(replan, tmp_path):
    (tmp_path / "seen.csv").write_text("t,s,a,next\n0,0,0,1\n")
    status, _, err = replan("estimate", str(tmp_path / "seen.csv"))
    assert status == 2 and "`replan log`" in err and err.count("\n") == 1


def test_estimate(answer, replan, tmp_path):
    """Two robots in one pair: three of four went to 1. With no drift the estimate is pooled, 3 in 4."""
    path = tmp_path / "seen.csv"
    path.write_text("t,s,a,next\n0,0,0,1\n1,0,0,1\n2,0,0,0\n5,0,0,1\n")
    found = answer("estimate", str(path), "--states", "2", "--actions", "1", "--drift-bound", "0")
    assert found["log_likelihood"] == pytest.approx(3 * np.log(0.75) + np.log(0.25))
    assert found["gap"] <= 1e-8
    assert found["kernels"][0]["next"] == [0, 1]
    assert found["kernels"][0]["probabilities"] == pytest.approx([0.25, 0.75], abs=1e-6)
    for rows, said in (
        ("5,0,0,1\n0,0,0,1\n", "row 2"),
        ("0,0,0,7\n", "row 1: next=7"),
        ("0,0,0,x\n", "row 1"),
        ("", "no observations"),
    ):
        path.write_text("t,s,a,next\n" + rows)
        status, _, err = replan(
            "estimate", str(path), "--states", "2", "--actions", "1", "--drift-bound", "0"
        )
        assert status == 2 and said in err and err.count("\n") == 1
    path.write_text("t,s,a,next\n0,0,0,1\n")
    for bound in ("-1", "nan"):
        status, _, err = replan(
            "estimate", str(path), "--states", "2", "--actions", "1", "--drift-bound", bound
        )
        assert status == 2 and err.count("\n") == 1


def test_prices_on_the_command_line(answer, replan, small_setting):
    priced = answer("regret", small_setting, "--rule", "lookahead", "--price", "0.02")
    paid = 0.02 * priced["expected_updates"]
    assert priced["objective"] == pytest.approx(priced["return"] - paid)
    assert priced["objective"] <= priced["best_objective"] + 1e-9
    best = answer("optimum", small_setting, "--price", "0.02")
    assert best["feedback"]["objective"] == pytest.approx(priced["best_objective"])
    _, out, _ = replan("optimum", small_setting, "--price", "0.02")
    assert "updates at 0.02" in out
    limited = answer("regret", small_setting, "--rule", "lookahead", "--price", "0.001", "--budget", "1")
    assert limited["expected_updates"] <= 1 + 1e-9
    for command in ("regret", "schedule"):
        status, _, err = replan(command, small_setting, "--rule", "periodic", "--price", "0.02")
        assert (status, err.count("\n")) == (2, 1)
        assert "periodic needs a budget" in err


def test_a_study_can_vary_prices(tmp_path, small_setting):
    axis = {"base": small_setting, "name": "small", "vary": {"price": [0.01, 0.5]}}
    run = computed({"settings": [axis], "rules": ["lookahead"], "measure": ["exact", "optimum"]}, tmp_path)
    cheap, dear = (r["expected_updates"] for r in run.records if r["rule"] == "lookahead")
    assert cheap >= dear
    assert all(record["objective"] is not None for record in run.records)
