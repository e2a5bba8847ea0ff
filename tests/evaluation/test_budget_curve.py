from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from replan import Spending
from replan.evaluation.exact import regret
from replan.evaluation.optimal_schedule import optimum
from replan.evaluation.scale import BudgetCurve, budget_curve
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import Periodic
from replan.worlds.settings import load_setting, make_mission
from tiny_worlds import tiny_missions


@given(mission=tiny_missions())
def test_each_point_is_the_regret_of_a_mission_of_its_own_and_none_lies_below_the_floor(mission):
    for rule in (Periodic(), Lookahead()):
        curve = budget_curve(mission, lambda spending, rule=rule: rule, most=mission.horizon - 1)
        for index, value in enumerate(curve.regrets):
            alone = replace(mission, spending=Spending.exactly(index + 1))
            assert value == pytest.approx(regret(alone, rule), abs=1e-9)
            assert curve.floors[index] == pytest.approx(optimum(alone).feedback_regret, abs=1e-9)
        assert (curve.regrets >= curve.floors - 1e-9).all()


def test_budgets_that_share_their_updates_give_the_same_regret_as_missions_of_their_own():
    mission = make_mission(load_setting("two-burst"))
    curve = budget_curve(mission, lambda spending: Lookahead(), most=6, floor=False)
    assert curve.floors is None
    for budget in (2, 4):
        assert curve.regrets[budget - 1] == regret(
            replace(mission, spending=Spending.exactly(budget)), Lookahead()
        )


def test_the_smallest_budget_and_the_best_at_a_price_are_read_off_the_curve():
    curve = BudgetCurve((Periodic(),) * 4, np.array([3.0, 1.0, 1.5, 0.5]), None)
    assert [curve.smallest_budget(most) for most in (5, 1.2, 1.0, 0.7, 0.1)] == [1, 2, 2, 4, None]
    assert [curve.budget_at_price(price) for price in (0, 0.2, 0.5, 3)] == [4, 4, 2, 1]
    assert [curve.budget_at_price(price, never=3.5) for price in (0, 1, 2)] == [4, 2, 0]
    assert curve.worth[:3] == pytest.approx([2.0, -0.5, 1.0]) and np.isnan(curve.worth[3])
