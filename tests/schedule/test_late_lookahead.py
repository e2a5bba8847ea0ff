"""Look-ahead that knows how long updates take."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from tests.evaluation.test_latency import EXECUTIONS, MEANWHILES, late_mission

from replan import Spending, evaluate, load_setting, make_mission, optimum
from replan.forecast.given import Given
from replan.model.kernel import constant
from replan.schedule.fixed import FixedTimes
from replan.schedule.lookahead import Lookahead

STEPS = (1, 2, {1: 0.5, 3: 0.5})


@pytest.mark.parametrize(
    ("execution", "steps", "meanwhile"), list(product(EXECUTIONS, STEPS, MEANWHILES)), ids=str
)
def test_a_robot_that_is_told_the_future_reaches_the_floor(execution, steps, meanwhile):
    for seed, spending in product(range(3), (Spending.exactly(2), Spending.at_price(0.1))):
        mission = late_mission(seed, execution, steps, meanwhile, horizon=8).with_spending(spending)
        world = mission.world
        mission = replace(mission, robot=replace(mission.robot, forecast=Given(world.kernel)))
        best = optimum(mission).feedback_objective
        assert evaluate(mission, Lookahead(tolerance=0.0)).objective == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize(
    ("execution", "steps", "meanwhile"), list(product(EXECUTIONS, STEPS, MEANWHILES)), ids=str
)
def test_where_nothing_moves_the_frozen_robot_reaches_the_floor(execution, steps, meanwhile):
    for seed in range(3):
        mission = late_mission(seed, execution, steps, meanwhile, horizon=8)
        world = replace(mission.world, kernel=constant(mission.world.kernel(0)))
        mission = replace(mission, world=world, spending=Spending.exactly(2))
        best = optimum(mission).feedback_regret
        assert evaluate(mission, Lookahead(tolerance=0.0)).regret == pytest.approx(best, abs=1e-9)


def test_updates_at_a_price_late_in_a_mission_are_weighed_before_the_plan_in_force_has_arrived():
    setting = load_setting("two-burst").model_copy(update={"n": 4, "horizon": 16})
    mission = make_mission(setting, forecast="mixture", update_steps=4, price=0.001)
    never = evaluate(mission, FixedTimes(()))
    assert evaluate(mission, Lookahead()).objective > never.objective
