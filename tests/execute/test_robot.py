"""A robot is checked when it is made, on its own or as another one's copy."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from replan import InputError, Robot, Ties
from replan.execute.robot import plan_by_induction
from replan.forecast.base import Frozen
from replan.forecast.given import Given
from replan.forecast.trend import Trend
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.slip import SlipKernel


def own_planner(*given):
    return plan_by_induction(*given)


def test_the_robot_of_the_paper_needs_a_planning_horizon_alone():
    robot = Robot(planning_horizon=7)
    assert (robot.execution, robot.estimator, robot.ties) == ("map", None, Ties("first"))
    assert isinstance(robot.forecast, Frozen) and robot.planner is plan_by_induction
    assert Robot(planning_horizon=1).planning_horizon == 1


@pytest.mark.parametrize("horizon", [0, -1, True, 2.0, np.int64(3), "3", None])
def test_a_planning_horizon_is_a_whole_number_of_steps(horizon):
    with pytest.raises(InputError, match="planning_horizon must be a whole number of at least 1, not "):
        Robot(planning_horizon=horizon)


@pytest.mark.parametrize("forecast", ["trend", None, Trend])
def test_a_forecast_is_a_forecast(forecast):
    with pytest.raises(InputError, match="forecast must be a Forecast, "):
        Robot(planning_horizon=2, forecast=forecast)


def test_an_unknown_execution_is_refused_at_once():
    with pytest.raises(InputError, match='execution must be "map", "belief" or "localised", not \'mapp\''):
        Robot(planning_horizon=2, execution="mapp")


def test_a_planner_of_one_s_own_and_a_forecast_that_moves_do_not_go_together():
    moves = Given([SlipKernel((2, 2), 0.1)])
    Robot(planning_horizon=2, planner=own_planner, forecast=Frozen())
    Robot(planning_horizon=2, forecast=moves)
    with pytest.raises(InputError, match=r"a planner of your own .* needs the forecast frozen"):
        Robot(planning_horizon=2, planner=own_planner, forecast=moves)


def test_a_robot_is_changed_by_replacing_it_and_checked_again():
    robot = Robot(planning_horizon=2)
    with pytest.raises(FrozenInstanceError):
        robot.execution = "belief"
    assert replace(robot, execution="belief") == Robot(planning_horizon=2, execution="belief")
    with pytest.raises(InputError, match="planning_horizon"):
        replace(robot, planning_horizon=0)


def test_the_planner_of_a_robot_is_backward_induction():
    kernel, reward = SlipKernel((2, 2), 0.0), constant(Reward(next_state=np.array([0.0, 0.0, 0.0, 1.0])))
    made = plan_by_induction(kernel, reward, 3, 2, Ties("last"))
    assert (made.time, made.ties, made.kernel) == (3, Ties("last"), kernel)
    assert made.next_values[3] == 1.0 and made.next_values[0] == 0.0, "one further step from the corner"
