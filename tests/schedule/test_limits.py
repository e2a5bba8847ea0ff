"""Parameters, budgets and times are accepted up to their limits and refused just beyond."""

from math import inf, nan

import numpy as np
import pytest

from replan.errors import InputError
from replan.schedule import BestOffset, DriftThreshold, LocalDrift, Lookahead, RegretGuided
from replan.schedule.spending import Prices, check_budget, check_budgets, check_times

ACCEPTED = {
    BestOffset: [{"offset": 0}, {"period": 1}],
    DriftThreshold: [{"pace_weight": 0.0}, {"threshold": -1.0}],
    RegretGuided: [
        {"alpha": 0},
        {"alpha": 1},
        {"m": 1},
        {"diameter": 0},
        {"weights": (0, 0, 0)},
        {"threshold": inf},
    ],
    Lookahead: [{"tolerance": 0.0}, {"tolerance": 0.0099}, {"effort": 1e-9}],
}
REFUSED = {
    BestOffset: [{"offset": -1}, {"period": 0}],
    DriftThreshold: [{"pace_weight": -1e-9}, {"pace_weight": nan}],
    RegretGuided: [{"alpha": -1e-9}, {"alpha": 1 + 1e-9}, {"m": 0}, {"weights": (1, 1, 1, 1)}],
    Lookahead: [{"tolerance": 0.01}, {"tolerance": -1e-9}, {"effort": 0.0}],
}


@pytest.mark.parametrize(("rule", "given"), [(rule, each) for rule in ACCEPTED for each in ACCEPTED[rule]])
def test_a_parameter_at_its_limit_is_accepted(rule, given):
    ((name, value),) = given.items()
    assert getattr(rule(**given), name) == value


@pytest.mark.parametrize(("rule", "given"), [(rule, each) for rule in REFUSED for each in REFUSED[rule]])
def test_a_parameter_beyond_its_limit_is_refused_by_its_name(rule, given):
    with pytest.raises(InputError, match=next(iter(given))):
        rule(**given)


def test_local_drift_takes_bounds_of_zero_and_any_threshold_above():
    assert LocalDrift(np.zeros((1, 1, 1)), threshold=1e-9).threshold == 1e-9
    with pytest.raises(InputError, match="bounds"):
        LocalDrift(np.full((1, 1, 1), nan), threshold=1)


def test_a_budget_lies_between_one_and_the_last_time():
    assert (check_budget(1, 5), check_budget(4, 5)) == (1, 4)
    assert check_budget(None, 5, Prices(look=0.1)) == 4, "with prices alone every time can have one"
    for budget in (0, 5):
        with pytest.raises(InputError, match=f"budget must lie between 1 and 4.*not {budget}"):
            check_budget(budget, 5)


@pytest.mark.parametrize(
    ("budget", "looks", "plans"), [(None, 2, None), (None, None, 2), (3, 2, None), (3, 2, 2)]
)
def test_looks_and_plans_have_two_budgets_or_one_for_both(budget, looks, plans):
    with pytest.raises(InputError, match="give both, and no other budget"):
        check_budgets(budget, 5, prices=None, looks=looks, plans=plans)


@pytest.mark.parametrize("name", ["looks", "plans"])
def test_each_of_two_budgets_has_the_limits_of_one(name):
    assert check_budgets(None, 5, prices=None, looks=1, plans=4) == (1, 4)
    for budget in (0, 5):
        with pytest.raises(InputError, match=f"^{name} must lie between 1 and 4.*not {budget}"):
            check_budgets(None, 5, prices=None, **{"looks": 2, "plans": 2, name: budget})


@pytest.mark.parametrize("name", ["look", "plan"])
def test_a_price_is_finite_and_not_negative(name):
    for price in (-1e-9, inf, nan):
        with pytest.raises(InputError, match=f"the price of a {name} must"):
            Prices(**{name: price})
    assert getattr(Prices(**{name: 0.5}), name) == 0.5


def test_times_lie_between_one_and_the_last_time():
    assert check_times([1, 4], budget=2, horizon=5) == (1, 4)
    assert check_times(iter([1]), budget=1, horizon=2) == (1,)
    for times, said in (
        ([1, 5], "5 lies outside 1 to 4"),
        ([1, 0], "0 lies outside"),
        ([2, 3], "at 1, not 2"),
        ([1], "1 update times given, but the budget is 2"),
    ):
        with pytest.raises(InputError, match=said):
            check_times(times, budget=2, horizon=5)
