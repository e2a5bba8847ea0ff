"""A second start begins a new mission, an agent has T steps, a saved filter keeps what it has not moved."""

import numpy as np
import pytest

from replan import (
    Agent,
    FamilyFilter,
    InputError,
    Mission,
    Periodic,
    Robot,
    SimulatedRobot,
    Spending,
    rover,
)

WORLD = rover(4, np.linspace(0.1, 0.4, 9))
MISSION = Mission(WORLD, Robot(planning_horizon=4), Spending.exactly(4))


def make_filter():
    return FamilyFilter(WORLD.family, WORLD.drift_bounds, start=WORLD.kernel(0))


def fly(agent):
    """Start and fly a whole mission; the Q-values of every plan in force."""
    robot, found = SimulatedRobot(WORLD, seed=3), []
    agent.start(robot.look())
    while not agent.done:
        if agent.due().update:
            agent.update(robot.look())
        found.append(agent.plan.q_values)
        robot.do(agent.act())
    return found


def test_a_second_start_begins_anew_to_the_last_bit():
    agent = Agent.on(MISSION, Periodic(), estimator=make_filter())
    first, second = fly(agent), fly(agent)
    np.testing.assert_array_equal(first, second)
    assert any((one != first[0]).any() for one in first)  # it had learned something


def test_there_is_no_action_after_the_last_step():
    agent = Agent.on(MISSION, Periodic())
    assert len(fly(agent)) == MISSION.horizon
    with pytest.raises(InputError, match="all 9 steps have been taken"):
        agent.act()
    assert not agent.due().update
