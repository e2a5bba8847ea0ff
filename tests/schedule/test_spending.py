"""Ways to spend, and every rule, on any mission, spends exactly its budget."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import FixedTimes, Robot, Spending
from replan.errors import InputError
from replan.evaluation.exact import evaluate
from replan.execute.mission import Mission, make_timeline
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.model.world import World
from replan.schedule.fixed import Random
from replan.schedule.registry import make_rule, registered_rule, rule_names
from replan.schedule.rule import Need
from replan.worlds.slip_grid import distances


@st.composite
def missions(draw):
    horizon = draw(st.integers(3, 14))
    slip = draw(st.lists(st.floats(0, 0.6), min_size=horizon, max_size=horizon))
    world = World(
        horizon=horizon,
        kernel=lambda t: SlipKernel((3, 3), slip[t]),
        reward=constant(Reward(next_state=-distances(3, (2, 2)))),
    )
    return Mission(
        world,
        Robot(planning_horizon=draw(st.integers(1, 4))),
        Spending.exactly(draw(st.integers(1, horizon - 1))),
    )


PARAMETERS = {
    "regret-guided": {
        "score": st.sampled_from(["gap", "drift", "gap+drift", "theorem"]),
        "alpha": st.floats(0, 1),
        "m": st.integers(1, 9),
        "diameter": st.floats(0, 5),
        "threshold": st.none() | st.floats(0, 3),
        "pacing": st.sampled_from(["even", "none"]),
    },
    "best-offset": {"offset": st.integers(0, 20), "period": st.none() | st.integers(1, 20)},
    "drift-threshold": {"threshold": st.floats(0, 2), "pace_weight": st.floats(0, 1)},
    "self-triggered": {"threshold": st.floats(0, 2)},
    "lazy-value": {"threshold": st.floats(0, 2)},
    "fixed-rate": {"every": st.integers(1, 20)},
}


BLIND = [name for name in rule_names() if Need.STATE not in registered_rule(name).needs]


@pytest.mark.parametrize("name", BLIND)
@given(mission=missions(), data=st.data())
def test_exactly_the_budget_is_spent(name, mission, data):
    rule = make_rule(name, **data.draw(st.fixed_dictionaries(PARAMETERS.get(name, {}))))
    made = make_timeline(mission, rule, seed=data.draw(st.integers(0, 2**32)))
    assert len(made.times) == len(set(made.times)) == mission.spending.limit
    assert made.times[0] == 1 and made.times[-1] < mission.horizon
    assert list(made.times) == sorted(made.times)
    assert [t for t, decision in made.decisions if decision.update] == list(made.times)
    for _, decision in made.decisions:
        assert decision.reason
        if decision.terms:
            assert sum(decision.terms.values()) == pytest.approx(decision.score)


@given(mission=missions())
def test_the_random_law_spends_the_budget_in_expectation(mission):
    steps = evaluate(mission, Random(), all_starts=False).steps
    assert steps.update_probability.sum() == pytest.approx(mission.spending.limit)
    later = steps.update_probability[2:]
    assert later == pytest.approx([(mission.spending.limit - 1) / (mission.horizon - 2)] * len(later))


def test_a_random_rule_has_no_one_timeline():
    world = World(5, constant(SlipKernel((2, 2), 0.1)), constant(Reward(next_state=-distances(2, (1, 1)))))
    with pytest.raises(InputError, match="seed"):
        make_timeline(Mission(world, Robot(planning_horizon=2), Spending.exactly(2)), Random())


def test_a_budget_lies_between_one_and_the_last_time():
    assert [Spending.exactly(budget).most(5) for budget in (1, 4)] == [1, 4]
    assert Spending.at_price(0.1).most(5) == 4, "with a price every time can have an update"
    with pytest.raises(InputError, match="budget must be at least 1, not 0"):
        Spending.exactly(0)
    for spending in (Spending.exactly(5), Spending.at_most(5), Spending.at_price(0.1, limit=5)):
        assert spending.most(6) == 5
        with pytest.raises(InputError, match=r"budget must lie between 1 and 4 \(horizon - 1\), not 5"):
            spending.most(5)


@pytest.mark.parametrize(
    "make", [Spending.exactly, Spending.at_most, lambda b: Spending.at_price(0.1, limit=b)]
)
@pytest.mark.parametrize("budget", [4.5, True, "4", np.float64(4)])
def test_a_budget_is_a_whole_number(make, budget):
    with pytest.raises(InputError) as error:
        make(budget)
    assert str(error.value) == f"budget must be a whole number, not {budget!r}"
    assert make(np.int64(4)) == make(4)


@pytest.mark.parametrize("price", [-1e-9, inf, nan, "0.1", True])
def test_a_price_is_finite_and_not_negative(price):
    with pytest.raises(InputError, match="the price of an update must be a number of at least 0"):
        Spending.at_price(price)
    assert Spending.at_price(0.0).paid(3) == 0 and Spending.at_price(0.5).paid(3) == 1.5


@pytest.mark.parametrize("limit", [None, 3])
def test_only_a_budget_without_a_price_is_spent_exactly(limit):
    with pytest.raises(InputError, match="only a budget without a price can be spent exactly"):
        Spending(limit, exact=True, price=0.1)


@pytest.mark.parametrize("exact", [False, True])
def test_there_is_a_budget_or_a_price(exact):
    with pytest.raises(InputError, match="a mission needs a budget or a price"):
        Spending(exact=exact)


def test_what_needs_a_budget_is_told_of_a_price():
    assert Spending.exactly(3).required_limit() == Spending.at_most(3).required_limit() == 3
    for priced in (Spending.at_price(0.1), Spending.at_price(0.1, limit=3)):
        with pytest.raises(InputError, match="this needs a budget, without a price"):
            priced.required_limit()


def test_times_lie_between_one_and_the_last_time():
    two = Spending.exactly(2)
    assert two.check_times([1, 4], 5) == (1, 4)
    assert Spending.exactly(1).check_times(iter([1]), 2) == (1,)
    for times, said in (
        ([1, 5], "5 lies outside 1 to 4"),
        ([1, 0], "0 lies outside"),
        ([2, 3], "at 1, not 2"),
        ([1, 1], "1 is repeated"),
        ([3, 1], "1 comes after 3"),
        ([1], "1 update times given, but the budget is 2"),
        ([1, 2, 3], "3 update times given, but the budget is 2"),
    ):
        with pytest.raises(InputError, match=said):
            two.check_times(times, 5)
    with pytest.raises(InputError, match="budget must lie between 1 and 1"):
        two.check_times([1, 2], 2)


@pytest.mark.parametrize("time", [17.5, 17.0, True, "17"])
def test_a_time_is_a_whole_number(time):
    assert Spending.exactly(2).check_times(np.array([1, 17]), 50) == (1, 17)
    with pytest.raises(InputError) as error:
        Spending.exactly(2).check_times([1, time], 50)
    assert str(error.value) == f"an update time must be a whole number, not {time!r}"


@pytest.mark.parametrize(
    ("spending", "accepted", "refused"),
    [
        (Spending.at_most(2), [(1,), (1, 4)], {(): "0 update", (3,): "at 1, not 3", (1, 2, 3): "3 update"}),
        (Spending.at_price(0.1, limit=2), [(), (3,), (2, 4)], {(1, 2, 3): "3 update", (2, 2): "repeated"}),
        (Spending.at_price(0.1), [(), (3,), (1, 2, 3, 4)], {(1, 5): "5 lies outside 1 to 4"}),
    ],
)
def test_a_budget_that_need_not_be_spent_is_a_limit_and_with_a_price_the_first_time_is_free(
    spending, accepted, refused
):
    for times in accepted:
        assert spending.check_times(times, 5) == times
    for times, said in refused.items():
        with pytest.raises(InputError, match=said):
            spending.check_times(times, 5)


@pytest.mark.parametrize(
    ("spending", "forced", "latest"),
    [(Spending.exactly(3), True, 7), (Spending.at_most(3), False, 10), (Spending.at_price(0.1), False, 10)],
)
def test_only_an_exact_budget_forces_updates(spending, forced, latest):
    assert spending.forces(3, 3) is forced
    assert not spending.forces(2, 3)
    assert spending.latest(3, 10) == latest
    assert spending.first_is_forced is (spending.price is None)


def test_a_refusal_says_why():
    refusal = Spending.exactly(3).refusal
    assert refusal(left=0, time=4, last_update=2, horizon=9) == "the budget is spent"
    assert refusal(left=1, time=4, last_update=4, horizon=9) == "updated at this time already"
    for time in (0, 9):
        assert "begin at 1" in refusal(left=1, time=time, last_update=2, horizon=9)
    assert refusal(left=1, time=8, last_update=2, horizon=9) is None


def test_another_budget_is_spent_in_the_same_way():
    assert Spending.exactly(3).as_budget(5) == Spending.exactly(5)
    assert Spending.at_most(3).as_budget(5) == Spending.at_most(5)
    for priced in (Spending.at_price(0.1), Spending.at_price(0.1, limit=3)):
        assert priced.as_budget(5) == Spending.exactly(5)
    with pytest.raises(InputError, match="budget must be at least 1, not 0"):
        Spending.at_most(3).as_budget(0)


def test_fixed_times_are_whole_numbers():
    assert FixedTimes((1, np.int64(17))).times == (1, 17)
    with pytest.raises(InputError, match=r"an update time must be a whole number, not 17\.5"):
        FixedTimes((1, 17.5))
