"""`last-moment` and `gain` where updates take time, against a literal robot."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.late_robot import LateMission
from tests.skip.test_one_programme import MEANWHILES
from tests.tiny_worlds import late_mission

from replan import Spending, evaluate
from replan.execute.robot import plan_by_induction
from replan.forecast.given import Given
from replan.forecast.trend import Trend
from replan.schedule.last_moment import Gain, LastMoment

MARGIN = 0.05
STEPS = (0, 1, 2, 3, {0: 0.25, 2: 0.75}, {1: 0.5, 3: 0.5})


def wrong_in_half_the_states(kernel, reward, time, horizon, ties):
    made = plan_by_induction(kernel, reward, time, horizon, ties)
    other = (made.policy + 1) % kernel.actions
    return replace(made, policy=np.where((np.arange(kernel.states) + time) % 2, made.policy, other))


def spoiled(q_values, time):
    """Values by which that planner is right."""
    states, actions = q_values.shape
    best = (q_values >= q_values.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1)
    return np.eye(actions)[np.where((np.arange(states) + time) % 2, best, (best + 1) % actions)]


@pytest.mark.parametrize("planner", [plan_by_induction, wrong_in_half_the_states])
@pytest.mark.parametrize(("steps", "meanwhile"), list(product(STEPS, MEANWHILES)), ids=str)
def test_both_decide_as_they_are_defined(steps, meanwhile, planner):
    own = planner is not plan_by_induction
    for seed, price in product(range(3), (None, 0.1)):
        spending = Spending.at_most(2) if price is None else Spending.at_price(price)
        mission = late_mission(seed, "localised", steps, meanwhile).with_spending(spending)
        moving = (mission.robot.forecast, Trend(), Given(mission.world.kernel))[0 if own else seed]
        mission = replace(mission, robot=replace(mission.robot, forecast=moving, planner=planner))
        literal = LateMission(mission, spoiled if own else None)

        def last(moment, literal=literal, price=price):
            loss, gain = literal.loss_and_gain(moment)
            worth_waiting = literal.waiting is None or steps == 0 or gain >= 0
            pays = price is None or gain >= price - 1e-12
            return (loss >= MARGIN - 1e-12 and pays and worth_waiting,)

        def gaining(moment, literal=literal, price=price):
            return (literal.loss_and_gain(moment)[1] >= (MARGIN if price is None else price) - 1e-12,)

        for rule, due in ((LastMoment(MARGIN, pace=False), last), (Gain(MARGIN), gaining)):
            expected = literal.value(due, price=price or 0.0)
            assert evaluate(mission, rule).objective == pytest.approx(expected, abs=1e-12)
