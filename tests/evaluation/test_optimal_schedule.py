"""The optimum equals exhaustive search, and nothing beats it."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import Robot, Spending
from replan.evaluation.exact import evaluate_times, regret
from replan.evaluation.optimal_schedule import (
    FixedSearch,
    feedback_regrets,
    optimum,
)
from replan.execute.mission import Mission
from replan.forecast.mixture import Mixture
from replan.model import drift
from replan.model.sizes import Sizes
from replan.planning.optimal_values import oracle_return
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import Periodic
from replan.schedule.regret_guided import RegretGuided
from replan.worlds.slip_grid import rover
from tiny_worlds import random_times, random_world, steps_of, tiny_missions

TWO_BURSTS = [(0.20, 0.34, 0.018), (0.62, 0.82, 0.018)]


def two_burst(execution):
    slip = drift.piecewise(50, slip=0.03, quiet=0.001, bursts=TWO_BURSTS)
    return Mission(rover(12, slip), Robot(planning_horizon=7, execution=execution), Spending.exactly(4))


def all_times(mission):
    return [(1, *rest) for rest in combinations(range(2, mission.horizon), mission.spending.limit - 1)]


def interval_values(mission):
    """(begin, end) -> (S,) gain and (S, S) arrivals, pushed one by one."""
    states = np.arange(mission.world.states)
    values = {}
    for begin in range(mission.horizon):
        gain = np.zeros(len(states))
        how = mission.update(begin).propagation
        steps = steps_of(mission.world, how, states, begin, mission.horizon)
        for end, (_, reward, after) in enumerate(steps, start=begin + 1):
            gain = gain + reward
            values[begin, end] = gain, after
    return values


def exhaustive_feedback(mission):
    """The best return over every map from (time, updates left, state) to a next time, one by one."""
    intervals, horizon = interval_values(mission), mission.horizon
    states = range(mission.world.states)
    nodes = [
        (t, left)
        for t in range(1, horizon)
        for left in range(1, mission.spending.limit)
        if t + left < horizon
    ]
    nodes = [(t, left) for t, left in nodes if (t == 1) == (left == mission.spending.limit - 1)]
    choices = [range(t + 1, horizon - left + 1) for t, left in nodes for _ in states]
    places = [(t, left, s) for t, left in nodes for s in states]

    def value(table, time, left, s):
        u = table[time, left, s] if left else horizon
        gain, after = intervals[time, u]
        ahead = (
            0.0
            if u == horizon
            else sum(p * value(table, u, left - 1, x) for x, p in enumerate(after[s]) if p)
        )
        return gain[s] + ahead

    gain, arrivals = intervals[0, 1]
    start, best = mission.world.start, -np.inf
    for chosen in product(*choices):
        table = dict(zip(places, chosen, strict=True))
        ahead = sum(
            p * value(table, 1, mission.spending.limit - 1, x) for x, p in enumerate(arrivals[start]) if p
        )
        best = max(best, gain[start] + ahead)
    return best


@given(tiny_missions(max_horizon=5))
def test_feedback_equals_exhaustive_search_over_all_feedback_schedules(mission):
    best = float(oracle_return(mission.world)[mission.world.start]) - exhaustive_feedback(mission)
    assert optimum(mission).feedback_regret == pytest.approx(best, abs=1e-9)


@given(tiny_missions(max_horizon=7))
def test_fixed_equals_trying_every_schedule(mission):
    tried = {times: evaluate_times(mission, times).regret for times in all_times(mission)}
    found = optimum(mission)
    assert found.fixed_proved
    assert found.fixed_regret == pytest.approx(min(tried.values()), abs=1e-9)
    assert tried[mission.check_times(found.fixed_times)] == pytest.approx(found.fixed_regret, abs=1e-9)


@given(tiny_missions(max_horizon=8), st.integers(0, 1000))
def test_no_rule_beats_it(mission, seed):
    found = optimum(mission)
    times = random_times(np.random.default_rng(seed), mission)
    rules = [Periodic(), RegretGuided(), Lookahead()]
    regrets = [evaluate_times(mission, times).regret, *(regret(mission, rule) for rule in rules)]
    assert found.feedback_regret <= found.fixed_regret + 1e-9
    assert found.feedback_regret <= min(regrets) + 1e-9


def test_an_ended_search_is_labelled_best_found():
    slip = drift.piecewise(20, slip=0.1, quiet=0.0, bursts=[(0.3, 0.7, 0.05)])
    mission = Mission(rover(4, slip), Robot(planning_horizon=4), Spending.exactly(4))
    cut, whole = optimum(replace(mission, sizes=Sizes(schedules=2))), optimum(mission)
    assert (cut.fixed_label, whole.fixed_label) == ("best found", "optimal")
    assert whole.feedback_regret <= whole.fixed_regret <= cut.fixed_regret
    assert cut.fixed_regret == pytest.approx(evaluate_times(mission, cut.fixed_times).regret, abs=1e-9)


def test_a_search_is_proved_from_as_many_nodes_on_as_it_visits(monkeypatch):
    slip = drift.piecewise(20, slip=0.1, quiet=0.0, bursts=[(0.3, 0.7, 0.05)])
    mission, extend, visited = (
        Mission(rover(4, slip), Robot(planning_horizon=4), Spending.exactly(4)),
        FixedSearch.extend,
        [],
    )

    def noting(search, times, gained, mass):
        visited.append(times)
        extend(search, times, gained, mass)

    monkeypatch.setattr(FixedSearch, "extend", noting)
    whole, count = optimum(mission), len(visited)
    assert len(set(visited)) == count > 2
    found = [optimum(replace(mission, sizes=Sizes(schedules=nodes))) for nodes in (count - 1, count)]
    assert [each.fixed_proved for each in found] == [False, True]
    assert found[1] == whole


def test_spending_less_pays_where_updates_on_a_mixture_do_harm():
    found = []
    for seed in range(12):
        world = random_world(np.random.default_rng(seed), horizon=6)
        mission = Mission(world, Robot(planning_horizon=3, forecast=Mixture()), Spending.exactly(4))
        exactly = [optimum(mission.with_spending(Spending.exactly(budget))) for budget in (1, 2, 3, 4)]
        at_most = optimum(replace(mission, spending=Spending.at_most(mission.limit)))
        assert at_most.feedback_regret <= min(each.feedback_regret for each in exactly) + 1e-9
        assert at_most.fixed_regret == pytest.approx(min(each.fixed_regret for each in exactly), abs=1e-9)
        found.append(exactly[-1].feedback_regret - at_most.feedback_regret)
    assert min(found) > -1e-9 and max(found) > 0.01


def test_spending_less_is_never_worse_where_it_is_allowed():
    slip = drift.piecewise(12, slip=0.1, quiet=0.0, bursts=[(0.3, 0.7, 0.05)])
    world = rover(3, slip)
    exactly = optimum(Mission(world, Robot(planning_horizon=3), Spending.exactly(3)))
    at_most = optimum(Mission(world, Robot(planning_horizon=3), Spending.at_most(3)))
    fewer = [
        optimum(Mission(world, Robot(planning_horizon=3), Spending.exactly(b))).fixed_regret
        for b in (1, 2, 3)
    ]
    assert at_most.feedback_regret <= exactly.feedback_regret + 1e-12
    assert at_most.fixed_regret == pytest.approx(min(fewer), abs=1e-9)


@given(tiny_missions(min_horizon=4, max_horizon=7))
def test_with_updates_to_spare_the_floor_is_that_of_the_best_smaller_budget_or_lower(mission):
    budgets = [replace(mission, spending=Spending.exactly(b)) for b in range(1, mission.spending.limit + 1)]
    exactly = [optimum(each) for each in budgets]
    at_most = optimum(replace(mission, spending=Spending.at_most(mission.limit)))
    assert at_most.feedback_regret <= min(each.feedback_regret for each in exactly) + 1e-9
    assert at_most.fixed_regret == pytest.approx(min(each.fixed_regret for each in exactly), abs=1e-9)


@pytest.mark.parametrize(
    ("execution", "feedback", "fixed"), [("map", 0.340, 0.353), ("belief", 0.094, 0.099)]
)
def test_two_burst(execution, feedback, fixed):
    found = optimum(two_burst(execution))
    assert round(found.feedback_regret, 3) == feedback
    assert round(found.fixed_regret, 3) == fixed
    assert found.fixed_proved


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_one_programme_gives_the_best_feedback_regret_of_every_budget(execution):
    world = rover(4, np.linspace(0.1, 0.5, 9))
    missions = [
        Mission(world, Robot(planning_horizon=4, execution=execution), Spending.exactly(b))
        for b in range(1, 9)
    ]
    separately = [optimum(mission).feedback_regret for mission in missions]
    assert feedback_regrets(missions[3], 8) == pytest.approx(separately, abs=1e-9)
