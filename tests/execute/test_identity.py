"""Agents are the same if all that moves them is, to the ninth digit, at any time."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.execute.loop import Faulty

from replan import (
    Agent,
    Archive,
    FixedTimes,
    InputError,
    Mission,
    RecordedKernels,
    Reward,
    Robot,
    SlipKernel,
    Spending,
    Ties,
    World,
)
from replan.execute.robot import plan_by_induction
from replan.execute.saved_agent import describe_arguments
from replan.forecast.base import Frozen
from replan.forecast.given import ForecastFault, Given
from replan.forecast.mixture import Mixture
from replan.schedule.periodic import Periodic

HORIZON = 6
TO_GOAL = np.linspace(-1, 0, 9)
THREE = Spending.exactly(3)


def agent(*, slip=0.1, last_reward=0.0, bound=0.0, spending=THREE, rule=None, seed=None, **robot) -> Agent:
    rewards = [Reward(next_state=TO_GOAL)] * (HORIZON - 1) + [Reward(next_state=TO_GOAL + last_reward)]
    bounds = np.array([0.1, 0.1, 0.1, 0.1, 0.1 + bound])
    world = World(HORIZON, lambda t: SlipKernel((3, 3), slip), rewards.__getitem__, stated_bounds=bounds)
    mission = Mission(world, Robot(**{"planning_horizon": 2, **robot}), spending)
    return Agent.on(mission, rule or Periodic(), seed=seed)


def differences(one: Agent, other: Agent) -> set[str]:
    mine, theirs = describe_arguments(one), describe_arguments(other)
    assert mine.keys() == theirs.keys()
    return {name for name in mine if mine[name] != theirs[name]}


def test_what_differs_is_named():
    same = agent()
    assert differences(same, agent()) == set()
    assert differences(same, agent(spending=Spending.exactly(2))) == {"spending"}
    assert differences(same, agent(planning_horizon=3)) == {"planning_horizon"}
    assert differences(same, agent(spending=Spending.at_most(3))) == {"spending"}
    assert differences(same, agent(execution="belief")) == {"execution"}
    assert differences(same, agent(ties=Ties("last"))) == {"ties"}
    assert differences(same, agent(seed=1)) == {"seed"}
    assert differences(same, agent(spending=Spending.at_price(0.1, limit=3))) == {"spending"}
    assert differences(same, agent(planner=lambda *given: plan_by_induction(*given))) == {"planner"}
    assert differences(same, agent(judge=lambda *given: plan_by_induction(*given))) == {"judge"}
    assert differences(same, agent(rule=FixedTimes((1, 2, 3)))) == {"rule"}
    assert differences(same, agent(forecast=Mixture())) == {"forecast"}
    assert differences(agent(forecast=Mixture()), agent(forecast=Mixture(floor=0.1))) == {"forecast"}
    assert differences(agent(rule=FixedTimes((1, 2, 4))), agent(rule=FixedTimes((1, 2, 3)))) == {"rule"}


def test_forecasts_are_told_apart_by_the_kernels_that_they_foretell():
    def foretelling(slip, late=0):
        kernels = [SlipKernel((3, 3), 0.1), SlipKernel((3, 3), slip)]
        return agent(forecast=Given(lambda t: kernels[t > 2], ForecastFault(late=late)))

    assert differences(foretelling(0.2), foretelling(0.2)) == set()
    for other in (foretelling(0.3), foretelling(0.2, late=1)):
        assert differences(foretelling(0.2), other) == {"forecast"}


def test_archives_are_told_apart_by_each_of_their_records():
    slips = np.linspace(0.05, 0.3, 12)

    def remembering(slips, period=1):
        past = RecordedKernels([SlipKernel((3, 3), slip).general() for slip in slips], period)
        return agent(forecast=Archive(past=past))

    same = remembering(slips)
    assert differences(same, remembering(slips.copy())) == set()
    for record in range(12):
        assert differences(same, remembering(slips + 0.01 * (np.arange(12) == record))) == {"forecast"}
    assert differences(same, remembering(slips, period=3)) == {"forecast"}
    assert differences(same, remembering(slips[:-1])) == {"forecast"}
    mirrored = 0.2 - slips[:3]  # as far from the nominal slip of .1 as they are, on the other side
    assert differences(remembering([*slips[:3], *slips]), remembering([*mirrored, *slips])) == {"forecast"}


def test_another_past_of_the_world_is_refused_where_the_forecast_remembers_it(tmp_path):
    def made(slip, forecast):
        world = World(HORIZON, lambda t: SlipKernel((3, 3), 0.1), lambda t: Reward(next_state=TO_GOAL))
        world = replace(world, past=RecordedKernels([SlipKernel((3, 3), slip).general()] * 12))
        return Agent.on(Mission(world, Robot(planning_horizon=2, forecast=forecast), THREE), Periodic())

    for forecast in (Frozen(), Archive()):
        saved = made(0.1, forecast)
        saved.start(0)
        saved.save(tmp_path / forecast.name)
        made(0.1, forecast).restore(tmp_path / forecast.name)
    made(0.2, Frozen()).restore(tmp_path / "frozen")
    with pytest.raises(InputError, match="saved with forecast archive"):
        made(0.2, Archive()).restore(tmp_path / "archive")


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
    one, other, again = (agent(estimator=Tuned(inner, strength=s)) for s in (1.0, 2.0, 1.0))
    assert differences(one, other) == {"estimator"}
    assert differences(one, again) == set()


def test_arguments_are_described_in_words():
    found = describe_arguments(agent())
    assert (found["horizon"], found["planning_horizon"]) == ("6", "2")
    assert found["spending"] == "Spending(limit=3, exact=True, price=None)"
    assert found["planner"] == "replan.execute.robot.plan_by_induction"
    assert found["rule"] == "Periodic()"
    assert found["world"].startswith("9 states, 5 actions, ")


def test_whatever_an_option_is_another_one_is_told_apart():
    world = World(3, lambda t: SlipKernel((1, 2), 0.1), lambda t: Reward(next_state=np.zeros(2)))
    begins = replace(
        world, kernel=lambda t: SlipKernel((1, 2), 0.1 + 0.1 * (t == 0)), stated_bounds=world.drift_bounds
    )
    many = [np.arange(4.0), np.arange(4.0).reshape(2, 2), {"a": 1}, {"b": 1}, {"a": 2}, [1], (1, 1)]
    many += [world, replace(world, start=1), begins, SlipKernel((1, 2), 0.2), len, max, 1, 2.5, "a"]
    inner = agent().estimator
    found = [describe_arguments(agent(estimator=Tuned(inner, strength=one))) for one in many]
    assert len({each["estimator"] for each in found}) == len(many)
