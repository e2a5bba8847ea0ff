"""An agent that is saved and restored after any step goes on as if nothing had happened, to the last bit.

With every estimator, forecast, rule and execution, also after updates that failed (the estimator has
learned then, and the old plan stays in force) and with kernels in single precision.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from replan import (
    Agent,
    DriftBoundedMLE,
    FamilyFilter,
    GeneralKernel,
    PooledSlip,
    SimulatedRobot,
    TrueKernel,
    make_mission,
)
from replan.schedule.registry import make_rule
from replan.worlds.settings import parse_setting

WORLDS = {
    "rover": {
        "world": "rover",
        "n": 3,
        "horizon": 9,
        "drift": {"kind": "piecewise", "slip": 0.1, "quiet": 0.01, "bursts": [[0.2, 0.6, 0.06]]},
    },
    "thin-ice": {"world": "thin-ice", "horizon": 9},
    "wind": {
        "world": "wind",
        "start_time": "2020-05-03T00:00",
        "rows": 3,
        "columns": 3,
        "goal": [2, 2],
        "horizon": 9,
    },
}
FORECASTS = ("frozen", "trend", "mixture", "given", "family", "family-ahead")
RULES = (
    "periodic",
    "lookahead",
    "drift-threshold",
    "self-triggered",
    "random",
    "regret-guided",
    "fixed-rate",
)


def write_wind(folder):
    """A table of wind over three days, hour by hour."""
    rng, path = np.random.default_rng(5), folder / "wind.csv"
    rows = (
        f"2020-05-{1 + hour // 24:02}T{hour % 24:02}:00,{rng.uniform(0, 9):.2f},{rng.uniform(0, 360):.1f}"
        for hour in range(72)
    )
    path.write_text("\n".join(["time,speed,direction", *rows]) + "\n")
    return str(path)


def late(kind):
    """The estimator with updates whose plan fails: it learns, and the caller gets no kernel.

    With `single` its kernels are in single precision.
    """

    class Late(kind):
        misses: frozenset = frozenset()
        single = False

        def estimate(self, learned, observation):
            learned, kernel = super().estimate(learned, observation)
            if observation.time in self.misses:
                return learned, None
            if not self.single:
                return learned, kernel
            lists = kernel.general()
            single = lists.probabilities.astype(np.float32)
            return learned, GeneralKernel.of_merged(lists.successors, single)

    return Late


def make_estimator(name, world, misses, *, single):
    bounds, nominal = world.drift_bounds, world.kernel(0)
    made = {
        "true": lambda: late(TrueKernel)(world),
        "pooled": lambda: late(PooledSlip)(nominal, bounds),
        "bounded": lambda: late(DriftBoundedMLE)(nominal, bounds),
        "family": lambda: late(FamilyFilter)(world.family, bounds, start=nominal),
    }[name]()
    object.__setattr__(made, "misses", misses)
    object.__setattr__(made, "single", single)
    return made


def drawn_case(seed, folder):
    """A mission with everything drawn, as a function that makes its agent anew each time."""
    rng = np.random.default_rng(seed)
    world = rng.choice(list(WORLDS))
    data = {**WORLDS[world], "planning_horizon": int(rng.integers(1, 6)), "budget": int(rng.integers(2, 6))}
    forecasts = FORECASTS
    if world == "wind":
        data, forecasts = data | {"file": write_wind(folder)}, ("archive", *FORECASTS)
    execution, forecast = str(rng.choice(["map", "belief", "localised"])), str(rng.choice(forecasts))
    mission = make_mission(parse_setting(data), execution=execution, forecast=forecast)
    if rng.random() < 0.3:
        mission = replace(mission, world=replace(mission.world, stated_bounds=np.full(8, 0.05)))
    estimators = ["true", "family"] + (["pooled", "bounded"] if world == "rover" else [])
    estimator, rule = str(rng.choice(estimators)), make_rule(str(rng.choice(RULES)))
    misses, single = frozenset(np.flatnonzero(rng.random(9) < 0.3).tolist()), bool(rng.random() < 0.3)

    def agent():
        learner = make_estimator(estimator, mission.world, misses, single=single)
        return Agent.on(mission, rule, estimator=learner, seed=seed, trial=False)

    return mission, agent


def fly(agent, robot):
    """Take the remaining steps; their actions."""
    actions = []
    while not agent.done:
        take_step(agent, robot)
        actions.append(agent.act())
        robot.do(actions[-1])
    return actions


def take_step(agent, robot):
    """Ask whether an update is due, and make it. A localised robot tells its state."""
    seen = robot.look() if agent.robot.sees else None
    if agent.due(seen).update:
        agent.update(robot.look())


def robot_at(mission, seed, actions):
    robot = SimulatedRobot(mission.world, seed=seed)
    for action in actions:
        robot.do(action)
    return robot


def check_saves(seed, path):
    """Save after every step of a mission, restore in a new agent and compare; the number of saves."""
    mission, make_agent = drawn_case(seed, path.parent)
    agent, robot = make_agent(), SimulatedRobot(mission.world, seed=seed)
    agent.start(robot.look())
    taken, points = [], []
    while not agent.done:
        take_step(agent, robot)
        agent.save(path)
        restored = make_agent()
        restored.restore(path)
        for ours, theirs in zip(
            (agent.plan, *agent.plan.later), (restored.plan, *restored.plan.later), strict=True
        ):
            np.testing.assert_array_equal(ours.policy, theirs.policy)
            np.testing.assert_array_equal(ours.q_values, theirs.q_values)
        np.testing.assert_array_equal(agent.estimate, restored.estimate)
        points.append((len(taken), restored))
        taken.append(agent.act())
        robot.do(taken[-1])
    for step, restored in points:
        assert fly(restored, robot_at(mission, seed, taken[:step])) == taken[step:]
    return len(points)


@pytest.mark.filterwarnings("ignore:replan")
@pytest.mark.parametrize("seed", range(24))
def test_a_restored_agent_has_the_same_plan_and_takes_the_same_actions(seed, tmp_path):
    assert check_saves(seed, tmp_path / "agent.npz") == 9


@pytest.mark.slow
def test_ten_thousand_saves(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sum(check_saves(seed, tmp_path / "agent.npz") for seed in range(100, 1220)) > 10_000
