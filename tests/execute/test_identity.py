"""Agents are the same if all that moves them is, to the ninth digit, at any time."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from tests.execute.loop import Faulty
from tests.tiny_worlds import tiny_missions

from replan import TVMDP, Agent, FixedTimes, GeneralKernel, Mission, Prices, Reward, SlipKernel, Ties
from replan.execute.identity import describe_arguments, kernel_arrays, kernel_from, options
from replan.schedule import Periodic

HORIZON = 6
TO_GOAL = np.linspace(-1, 0, 9)


def agent(*, slip=0.1, last_reward=0.0, bound=0.0, rule=None, **mission) -> Agent:
    rewards = [Reward(next_state=TO_GOAL)] * (HORIZON - 1) + [Reward(next_state=TO_GOAL + last_reward)]
    bounds = np.array([0.1, 0.1, 0.1, 0.1, 0.1 + bound])
    world = TVMDP(HORIZON, lambda t: SlipKernel((3, 3), slip), rewards.__getitem__, stated_bounds=bounds)
    settings = {"budget": 3, "planning_horizon": 2, **mission}
    return Agent.on(Mission(world, **settings), rule or Periodic())


def differences(one: Agent, other: Agent) -> set[str]:
    mine, theirs = describe_arguments(one), describe_arguments(other)
    assert mine.keys() == theirs.keys()
    return {name for name in mine if mine[name] != theirs[name]}


def test_what_differs_is_named():
    same = agent()
    assert differences(same, agent()) == set()
    assert differences(same, agent(budget=2)) == {"budget"}
    assert differences(same, agent(planning_horizon=3)) == {"planning_horizon"}
    assert differences(same, agent(spend_all=False)) == {"spend_all"}
    assert differences(same, agent(execution="belief")) == {"execution"}
    assert differences(same, agent(ties=Ties("last"))) == {"ties"}
    assert differences(same, replace(same, seed=1)) == {"seed"}
    assert differences(same, agent(prices=Prices(0.1))) == {"prices"}
    assert differences(
        same, replace(same, planner=lambda *given, **named: same.planner(*given, **named))
    ) == {"planner"}
    assert differences(agent(budget=None, looks=3, plans=2), agent(budget=None, looks=3, plans=1)) == {
        "plans"
    }
    assert differences(same, agent(rule=FixedTimes((1, 2, 3)))) == {"rule"}
    assert differences(agent(rule=FixedTimes((1, 2, 4))), agent(rule=FixedTimes((1, 2, 3)))) == {"rule"}


@pytest.mark.parametrize(("part", "value"), [("slip", 0.1), ("last_reward", 0.0), ("bound", 0.0)])
def test_worlds_that_differ_in_a_digit_that_counts_are_other_worlds(part, value):
    for change in (1e-12, -1e-12):
        assert "world" not in differences(agent(), agent(**{part: value + change}))
    assert "world" in differences(agent(), agent(**{part: value + 1e-6}))


@dataclass
class Tuned(Faulty):
    strength: float = 1.0


def test_estimators_are_told_apart_by_their_options():
    inner = agent().estimator
    assert options(Tuned(inner, strength=2.0))["strength"] == 2.0
    one, other, again = (replace(agent(), estimator=Tuned(inner, strength=s)) for s in (1.0, 2.0, 1.0))
    assert differences(one, other) == {"estimator"}
    assert differences(one, again) == set()


@given(tiny_missions())
def test_a_kernel_is_made_again_from_its_arrays(mission):
    for kernel in (mission.world.kernel(0), SlipKernel((2, 3), 0.2, blocked=[False] * 5 + [True])):
        again = kernel_from({name: np.array(array) for name, array in kernel_arrays(kernel).items()})
        assert type(again) is type(kernel)
        general, other = kernel.general(), again.general()
        assert isinstance(general, GeneralKernel)
        np.testing.assert_array_equal(general.successors, other.successors)
        np.testing.assert_array_equal(general.probabilities, other.probabilities)
