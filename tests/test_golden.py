"""Everything that the library computes, against figures kept from an earlier version.

By the public interface alone: the code behind it may be rebuilt. `golden_worlds.json` holds random worlds as
settings.
"""

import json
from contextlib import chdir
from pathlib import Path

import pytest
import tomli_w

from replan import (
    Agent,
    DriftBoundedMLE,
    DriftThreshold,
    FamilyFilter,
    InputError,
    Lookahead,
    PooledSlip,
    SimulatedRobot,
    decompose,
    evaluate,
    load_setting,
    make_mission,
    make_rule,
    optimum,
    oracle,
)
from replan.cli import run

HERE = Path(__file__).parent
GOLDEN = HERE / "golden.json"
SLOW = HERE / "golden_slow.json"
SETTINGS = (
    *("two-burst", "alternating", "sinusoidal-medium", "sparse-late-60", "sparse-late-50", "three-short"),
    *("crosswind-medium", "crosswind-hard", "terrain-medium", "terrain-hard"),
    *("thin-ice-medium", "thin-ice-hard"),
)
DEAR = ("late-burst", "narrow-late")
WORLDS = json.loads((HERE / "golden_worlds.json").read_text())
EXECUTIONS = ("map", "belief", "localised")
RULES = ("periodic", "even", "regret-guided", "lookahead", "last-moment", "random")


@pytest.fixture
def setting(tmp_path):
    """Loads a built-in setting, or a random world."""

    def load(name):
        data = WORLDS["test"] | WORLDS["slow"]
        if name not in data:
            return load_setting(name)
        path = tmp_path / f"{name}.toml"
        path.write_text(tomli_w.dumps(data[name]))
        return load_setting(path)

    return load


def drive(agent, world, *, told_after=None):
    """Answers, actions and log of an agent on the mission of seed 0."""
    robot, previous, begun, answers = SimulatedRobot(world, seed=0), None, 0, []
    agent.start(robot.look())
    while not agent.done:
        seen = (robot.look(),) if agent.robot.execution == "localised" else ()
        if told_after is not None and agent.updating and agent.time == begun + told_after:
            agent.arrive()
        decision = agent.due(*seen)
        if decision.update:
            begun = agent.time
            agent.update(robot.look(), previous)
        previous, action = robot.look(), agent.act(*seen)
        robot.do(action)
        answer = {name: getattr(decision, name) for name in ("update", "score", "threshold", "reason")}
        answers.append({**answer, **dict(decision.terms), "action": action})
    log = [
        {name: getattr(event, name) for name in ("time", "what", "why", "state")}
        for event in agent.log
        if event.what != "act"
    ]
    return {"answers": answers, "log": log}


def floor(mission):
    try:
        best = optimum(mission)
    except InputError:
        return None
    return {
        "feedback_regret": best.feedback_regret,
        "feedback_updates": best.feedback_updates,
        "fixed_times": best.fixed_times,
        "fixed_regret": best.fixed_regret,
        "fixed_proved": best.fixed_proved,
    }


def ruled(mission, rule, best):
    """Exact figures of a rule with its defaults, or None if it does not apply to the robot."""
    try:
        found = evaluate(mission, rule, best=best)
    except InputError:
        return None
    value = {
        "return": found.expected_return,
        "dynamic_regret": found.dynamic_regret,
        "loss": found.steps.loss,
        "update_probability": found.steps.update_probability,
        "answers": drive(Agent.on(mission, rule, seed=0, trial=False), mission.world)["answers"],
    }
    if rule.name != "random":  # dear: each of its schedules is split
        parts = decompose(mission, rule, best=best)
        value["split"] = {
            "".join("01"[on] for on in switches): each for switches, each in parts.combinations.items()
        }
    return value


def mission_figures(setting):
    """Yield name and figures of every robot and rule in a world."""
    world = setting.build()
    best = oracle(world)
    for execution in EXECUTIONS:
        mission = make_mission(setting, execution=execution, world=world)
        yield f"{execution} floor", floor(mission)
        for name in RULES:
            yield f"{execution} {name}", ruled(mission, make_rule(name), best)


@pytest.mark.parametrize("name", [*SETTINGS, *WORLDS["test"]])
def test_missions(golden, setting, name):
    for case, value in mission_figures(setting(name)):
        golden(GOLDEN, f"{name} {case}", value)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*DEAR, *WORLDS["slow"]])
def test_missions_of_more_worlds(golden, setting, name):
    for case, value in mission_figures(setting(name)):
        golden(SLOW, f"{name} {case}", value)


DRIFT = "--rule drift-threshold --set threshold=0.1 --set pace_weight=0.1"
LAST = "--rule last-moment --set margin=0.003 --set pace=true --execution localised"
ROBOTS = (
    "--price 0.05",
    "--price 0.05 --budget 3 --execution belief",
    "--price 0.05 --execution localised",
    "--at-most",
    "--update-steps 2",
    "--update-steps 1:0.5,3:0.5 --meanwhile go-on",
    "--update-steps 2 --execution localised",
    "--forecast trend",
    "--forecast mixture",
    "--forecast mixture --execution localised",
    "--forecast given --forecast-error 0.2 --execution belief",
    "--forecast given --forecast-noise 0.1 --execution localised",
)
COMMANDS = (
    "list",
    "demo",
    "demo --seed 5",
    "estimate seen.csv --states 3 --actions 2 --drift-bound 0.1",
    "regret two-burst --times 1,17,33,49 --rollouts 200 --seed 3",
    "regret two-burst --times 1,17 --price 0.05 --execution belief",
    "regret two-burst --times 3,17,30 --execution localised",
    "regret two-burst --times 1,17,33,49 --forecast given --forecast-error 0.2 --forecast-late 1",
    f"regret two-burst {DRIFT}",
    f"regret two-burst {LAST} --update-steps 2 --meanwhile wait",
    *(f"regret nsbridge-05 --rule lookahead {robot}" for robot in ROBOTS),
    "schedule two-burst --rule lookahead",
    "schedule two-burst --rule lookahead --update-steps 2 --execution belief",
    "schedule thin-ice-medium --rule lookahead --forecast mixture",
    "schedule two-burst --rule random --seed 4",
    f"schedule two-burst {DRIFT} --at-most",
    f"schedule terrain-medium {LAST}",
    f"schedule terrain-medium {LAST} --price 0.05 --update-steps 2",
    "optimum thin-ice-medium",
    "optimum two-burst --price 0.05",
    "optimum two-burst --at-most --execution belief",
    "optimum two-burst --execution localised --price 0.01 --budget 3",
    "optimum thin-ice-medium --update-steps 2",
    "optimum thin-ice-medium --update-steps 1:0.5,2:0.5 --meanwhile wait --execution localised",
    "optimum two-burst --forecast given",
    "optimum thin-ice-medium --forecast trend --execution localised",
    "budget nsbridge-05 --rule lookahead --most 4 --regret 0.5 --price 0.1",
    "budget nsbridge-05 --rule periodic --most 3 --by-steps 0,2 --execution belief",
    "budget terrain-medium --rule lookahead --most 3 --execution localised --price 0.05",
    "explain nsbridge-05 --rule random",
    "explain two-burst --rule lookahead --execution belief",
    "explain thin-ice-medium --times 1,10,20,30 --update-steps 2",
    f"explain terrain-medium {LAST}",
    "certify two-burst --times 1,17,33,49",
    "certify nsbridge-05 --rule lookahead --execution belief --boxes",
    "certify two-burst --times 1,17,33,49 --observations moves.csv",
)
DEAR_COMMANDS = (
    *(f"regret thin-ice-medium --rule lookahead {robot}" for robot in ROBOTS),
    "regret two-burst --rule lookahead --update-steps 1:0.5,3:0.5 --meanwhile wait",
    "regret two-burst --rule lookahead --forecast mixture",
    "regret thin-ice-medium --rule lookahead --forecast family-ahead",
    "certify two-burst --rule lookahead --execution belief --boxes",
)
SEEN = "t,s,a,next\n0,0,0,1\n1,1,0,2\n2,2,1,0\n2,0,0,1\n4,0,0,2\n5,2,1,0\n6,0,0,1\n6,2,1,1\n"


@pytest.fixture
def answer(tmp_path, capsys):
    """The JSON of a command."""
    (tmp_path / "seen.csv").write_text(SEEN)
    moves = [f"{t},{s},0,{s if s % 12 == 11 else s + 1}" for t in range(49) for s in range(0, 144, 5)]
    (tmp_path / "moves.csv").write_text("\n".join(["t,s,a,next", *moves]))

    def call(command):
        with chdir(tmp_path):
            status = run([*command.split(), "--json"])
        out, err = capsys.readouterr()
        assert (status, err) == (0, "")
        return json.loads(out)

    return call


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(golden, answer, command):
    golden(GOLDEN, f"replan {command}", answer(command))


@pytest.mark.slow
@pytest.mark.parametrize("command", DEAR_COMMANDS)
def test_commands_that_take_long(golden, answer, command):
    golden(SLOW, f"replan {command}", answer(command))


LATE = {"update_steps": 3, "meanwhile": "wait"}
LAST_MOMENT = make_rule("last-moment")
AGENTS = {  # setting, its robot, rule, agent
    "blind": ("thin-ice-medium", {}, Lookahead(), {}),
    "belief": ("thin-ice-hard", {"execution": "belief"}, Lookahead(), {}),
    "localised": ("terrain-medium", {"execution": "localised"}, LAST_MOMENT, {}),
    "priced": ("thin-ice-medium", {"price": 0.05}, Lookahead(), {}),
    "late": ("thin-ice-medium", LATE, Lookahead(), {}),
    "late, drawn": ("two-burst", {"update_steps": {1: 0.5, 3: 0.5}}, DriftThreshold(0.1), {"seed": 0}),
    "late, localised": ("terrain-hard", {"execution": "localised", "update_steps": 2}, LAST_MOMENT, {}),
    "told": ("thin-ice-medium", LATE, DriftThreshold(0.1), {"arrival": "told"}),
}


@pytest.mark.parametrize("kind", AGENTS)
def test_agents(golden, kind):
    setting, robot, rule, options = AGENTS[kind]
    mission = make_mission(load_setting(setting), **robot)
    told = {"told_after": 2} if kind == "told" else {}
    golden(GOLDEN, f"agent {kind}", drive(Agent.on(mission, rule, **options), mission.world, **told))


ESTIMATORS = {
    "drift-bounded": lambda world: DriftBoundedMLE(world.kernel(0), world.drift_bounds),
    "family": lambda world: FamilyFilter(world.family, world.local_drift_bounds, start=world.kernel(0)),
    "slip": lambda world: PooledSlip(world.kernel(0), world.drift_bounds, evidence="intervals"),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_agents_that_learn(golden, name):
    mission = make_mission(load_setting("two-burst"), budget=12)
    estimator = ESTIMATORS[name](mission.world)
    agent = Agent.on(mission, DriftThreshold(0.05), estimator=estimator)
    run = drive(agent, mission.world)
    row = agent.plan.kernel.general().probabilities[[0, 40, 90]]
    golden(GOLDEN, f"agent that learns, {name}", {**run, "learned": row})
