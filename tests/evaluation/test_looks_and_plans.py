"""Looks and plans with budgets of their own, against enumeration of all trajectories."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enumeration import BOTH, LOOK, NOTHING, PLAN, best_objective, expected_return
from replan.errors import InputError
from replan.evaluation import decompose, evaluate, regret, rollout, run_agent
from replan.evaluation.look_plan_grid import look_plan_grid
from replan.evaluation.look_plan_optimum import look_plan_floors, look_plan_optimum, looks_regrets, shifted
from replan.evaluation.look_plan_programme import best_of_both, programme_size
from replan.execute import Mission
from replan.execute.timeline import make_timeline
from replan.forecast import Given
from replan.model import from_arrays
from replan.planning.backward_induction import oracle_return
from replan.schedule import Decision, FixedTimes, Lookahead, Need, Periodic, Prices, Rule, make_rule
from replan.schedule.budget import Kind
from replan.schedule.periodic import periodic_times
from replan.study.rule_source import RULES
from replan.worlds import rover
from replan.worlds.settings import load_setting, make_mission, parse_setting
from tiny_worlds import random_world, tiny_missions


@st.composite
def missions_apart(draw, **options):
    """A tiny mission with two budgets, and times of looks and plans that spend them."""
    mission = draw(tiny_missions(**options))
    drawn = []
    for _ in range(2):
        later = draw(st.sets(st.integers(2, mission.horizon - 1)) if mission.horizon > 2 else st.just(set()))
        drawn.append((1, *sorted(later)))
    looks, plans = drawn
    return mission.with_budget(None, looks=len(looks), plans=len(plans)), looks, plans


def kind_of(time, looks, plans):
    return {(True, True): BOTH, (True, False): LOOK, (False, True): PLAN}.get(
        (time in looks, time in plans), NOTHING
    )


@given(missions_apart(max_horizon=6))
def test_given_times_of_looks_and_plans(case):
    mission, looks, plans = case
    found = evaluate(mission, FixedTimes(looks, plans))
    enumerated = expected_return(mission, lambda t, seen: kind_of(t, looks, plans))
    assert found.expected_return == pytest.approx(enumerated, abs=1e-9)
    assert (found.expected_looks, found.expected_plans) == pytest.approx((len(looks), len(plans)), abs=1e-9)
    assert found.expected_updates == pytest.approx(len({*looks, *plans}), abs=1e-9)
    assert float(found.steps.loss.sum()) == pytest.approx(found.regret, abs=1e-9)


@dataclass(frozen=True)
class ByState(Rule):
    """Looks, plans or does both by the time and the state that it knows of."""

    seed: int
    needs = frozenset({Need.STATE})

    def wants(self, time: int, last: int, state: int) -> tuple[bool, bool]:
        look, plan = np.random.default_rng([self.seed, time, last, state]).random(2) < 0.5
        return bool(look), bool(plan)

    def decide(self, context):
        look, plan = self.wants(context.time, context.last_update, context.state)
        return Decision(look or plan, "by the state", look=look, plan=plan)


@given(missions_apart(max_horizon=5, executions=("map",)), st.integers(0, 1000))
def test_a_rule_that_depends_on_the_state(case, seed):
    mission, rule = case[0], ByState(seed)
    found = evaluate(mission, rule)
    agent_kinds = enumerated_kinds(mission, rule)
    assert found.expected_return == pytest.approx(expected_return(mission, agent_kinds), abs=1e-9)
    budgets = mission.looks, mission.plans
    assert (found.expected_looks, found.expected_plans) == pytest.approx(budgets, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_robots_that_saw_different_states_look_plan_or_do_both_at_one_time(seed):
    world, rule = random_world(np.random.default_rng(seed), horizon=6), ByState(seed)
    mission = Mission(world, None, planning_horizon=3, looks=3, plans=3)
    enumerated = expected_return(mission, enumerated_kinds(mission, rule))
    assert evaluate(mission, rule).expected_return == pytest.approx(enumerated, abs=1e-9)


class EarlyOrLate(ByState):
    """Plans at 2 or 3, by the state seen at 1, and looks at 4."""

    def wants(self, time: int, last: int, state: int) -> tuple[bool, bool]:
        return time == 4, (time == 2 and state == 0) or (time == 3 and last == 1)


@given(tiny_missions(min_horizon=6, max_horizon=6, executions=("map",)))
def test_robots_that_look_at_one_time_keep_plans_of_different_times(mission):
    mission, rule = mission.with_budget(None, looks=2, plans=2), EarlyOrLate(0)
    enumerated = expected_return(mission, enumerated_kinds(mission, rule))
    assert evaluate(mission, rule).expected_return == pytest.approx(enumerated, abs=1e-9)


def enumerated_kinds(mission, rule):
    """What the rule makes of (time, looks so far), by its own bookkeeping from the start."""

    def kind_at(time, seen):
        looks, plans, last, plan_time = mission.looks, mission.plans, 0, 0
        state = estimate = mission.world.start
        known = dict(seen)
        for t in range(time + 1):
            kind = NOTHING
            if t == 1:
                kind = BOTH
            elif t > 1:
                wants = rule.wants(t, last, state)
                left, steps = (looks, plans), mission.horizon - t
                kind = tuple((want and b > 0) or b >= steps for want, b in zip(wants, left, strict=True))
            if t == time:
                return kind
            looks, plans = looks - kind[0], plans - kind[1]
            plan_time = t if kind[1] else plan_time
            estimate = known[t] if kind[0] else estimate
            if any(kind):
                last, state = t, estimate
            propagation = mission.update(plan_time).propagation
            here = np.array([estimate])
            estimate = int(propagation.advance(here, propagation.act(here, t), t)[0])
        raise AssertionError

    return kind_at


@given(missions_apart(max_horizon=6), st.integers(0, 1000))
def test_agents_and_rollouts_make_the_same_missions(case, seed):
    mission, looks, plans = case
    for rule in (FixedTimes(looks, plans), Periodic(), ByState(seed), Lookahead()):
        run = run_agent(mission, rule, seed=seed)
        rolled = rollout(mission, rule, [seed], trace=True)
        assert rolled.returns[0] == pytest.approx(run.total_reward, abs=1e-9)
        assert np.flatnonzero(rolled.updates[0]).tolist() == list(run.times)
        parts = [Kind(decision.kind) for _, decision in run.decisions]
        assert sum(Kind.LOOK in kind for kind in parts) == mission.looks
        assert sum(Kind.PLAN in kind for kind in parts) == mission.plans


@given(tiny_missions(max_horizon=6), st.integers(0, 1000))
def test_agents_and_rollouts_make_the_same_missions_where_looks_and_plans_are_priced(mission, seed):
    mission, rule = mission.with_budget(None, prices=Prices(0.1, 0.02)), ByState(seed)
    run, rolled = run_agent(mission, rule, seed=seed), rollout(mission, rule, [seed])
    assert rolled.returns[0] == pytest.approx(run.total_reward, abs=1e-9)
    kinds = [Kind(decision.kind) for _, decision in run.decisions]
    assert rolled.look_counts.tolist() == [sum(Kind.LOOK in kind for kind in kinds)]
    assert rolled.plan_counts.tolist() == [sum(Kind.PLAN in kind for kind in kinds)]


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("priced", [True, False])
def test_on_a_large_grid_plans_alone_go_on_from_what_is_reached(execution, priced):
    drift = {"kind": "linear", "slip": 0.3, "rate": 0.01}
    setting = {"world": "rover", "horizon": 8, "planning_horizon": 4, "budget": 3, "drift": drift}
    found = {}
    for n in (8, 101):  # the larger one is evaluated on what its robot reaches, in sparse matrices
        mission = make_mission(parse_setting({**setting, "n": n}), execution=execution)
        budgets = {"prices": Prices(0.1, 0.02)} if priced else {"looks": 4, "plans": 3}
        mission = mission.with_budget(None, **budgets)
        exact, rolled = (
            evaluate(mission, OddRows(n), all_starts=False),
            rollout(mission, OddRows(n), range(300)),
        )
        assert abs(rolled.returns.mean() - exact.expected_return) < 5 * rolled.returns.std() / 300**0.5
        found[n] = exact.expected_looks, exact.expected_plans
    assert found[8] == pytest.approx(found[101], abs=1e-9)


@dataclass(frozen=True)
class OddRows(Rule):
    """Plans alone in odd rows of a grid of width n, and looks alone in the others, at every second time."""

    n: int
    needs = frozenset({Need.STATE})

    def decide(self, context):
        odd = context.state // self.n % 2 == 1
        return Decision(context.time % 2 == 0, "by the row", look=not odd, plan=odd)


@given(missions_apart(max_horizon=7))
def test_random_times_earn_the_mean_of_all_schedules(case):
    mission = case[0]
    most = max(mission.looks, mission.plans)
    schedules = [(1, *later) for later in combinations(range(2, mission.horizon), most - 1)]
    parts = [FixedTimes(times[: mission.looks], times[: mission.plans]) for times in schedules]
    mean = np.mean([evaluate(mission, rule).expected_return for rule in parts])
    assert evaluate(mission, make_rule("random")).expected_return == pytest.approx(mean, abs=1e-9)


def test_rollouts_average_to_the_exact_return():
    mission = make_mission(load_setting("thin-ice-medium")).with_budget(None, looks=6, plans=3)
    rule = Periodic()
    exact = evaluate(mission, rule)
    returns = rollout(mission, rule, range(4000)).returns
    assert abs(returns.mean() - exact.expected_return) < 4 * returns.std() / len(returns) ** 0.5


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("execution", ["map", "belief"])
def test_equal_budgets_and_rules_that_say_both_change_nothing(name, execution):
    mission = make_mission(load_setting("two-burst"), execution=execution)
    apart = mission.with_budget(None, looks=mission.budget, plans=mission.budget)
    rule = make_rule(name)
    assert regret(apart, rule) == pytest.approx(regret(mission, rule), abs=1e-12)


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_rule_spends_both_budgets(name):
    world = rover(6, np.linspace(0.05, 0.4, 25))
    mission = Mission(world, 5, planning_horizon=5).with_budget(None, looks=5, plans=2)
    for each in (mission, mission.with_budget(None, looks=2, plans=5)):
        found = evaluate(each, make_rule(name))
        assert (found.expected_looks, found.expected_plans) == pytest.approx(
            (each.looks, each.plans), abs=1e-6
        )


def test_periodic_has_a_raster_for_each():
    mission = make_mission(load_setting("two-burst")).with_budget(None, looks=3, plans=5)
    timeline = make_timeline(mission, Periodic())
    assert timeline.times_of(Kind.LOOK) == periodic_times(50, 3)
    assert timeline.times_of(Kind.PLAN) == periodic_times(50, 5)


def test_prices_charge_looks_and_plans_apart():
    mission = make_mission(load_setting("two-burst"))
    priced = mission.with_budget(None, looks=3, plans=5, prices=Prices(look=0.1, plan=0.01))
    found = evaluate(priced, FixedTimes((1, 20, 40), (1, 10, 20, 30, 40)))
    assert found.objective == pytest.approx(found.expected_return - 0.35, abs=1e-9)


def test_two_budgets_are_given_together_and_alone():
    mission = make_mission(load_setting("two-burst"))
    for wrong in ({"looks": 3}, {"plans": 3}, {"looks": 3, "plans": 0}):
        with pytest.raises(InputError):
            mission.with_budget(None, **wrong)
    with pytest.raises(InputError, match="no other budget"):
        mission.with_budget(4, looks=3, plans=3)
    with pytest.raises(InputError, match="one budget"):
        decompose(mission.with_budget(None, looks=3, plans=3), Periodic())


def any_kind(mission):
    """The kinds that leave exactly both budgets spent at the end."""

    def kinds(time, looks, plans):
        if time <= 1:
            return [BOTH if time else NOTHING]
        later = mission.horizon - 1 - time
        return [
            (look, plan)
            for look, plan in (NOTHING, LOOK, PLAN, BOTH)
            if 0 <= mission.looks - looks - look <= later and 0 <= mission.plans - plans - plan <= later
        ]

    return kinds


def best_return(mission):
    return float(oracle_return(mission.world)[mission.world.start])


@settings(max_examples=50)
@given(missions_apart(max_horizon=5))
def test_the_optimum_equals_enumeration_of_all_schedules(case):
    mission = case[0]
    found = look_plan_optimum(mission)
    assert found.label == "optimal"
    enumerated = best_objective(mission, any_kind(mission))
    assert best_return(mission) - found.regret == pytest.approx(enumerated, abs=1e-9)


@given(missions_apart(max_horizon=6))
def test_no_rule_and_no_schedule_beats_the_optimum(case):
    mission, looks, plans = case
    least = look_plan_optimum(mission).regret
    for rule in (FixedTimes(looks, plans), Periodic(), Lookahead()):
        assert regret(mission, rule) >= least - 1e-9
    assert looks_regrets(mission, plans, mission.looks)[-1] >= least - 1e-9


@settings(max_examples=50)
@given(missions_apart(max_horizon=6))
def test_the_best_looks_for_given_plans_equal_enumeration(case):
    mission, _, plans = case

    def kinds(time, looks, made):
        allowed = any_kind(mission.with_budget(None, looks=mission.looks, plans=len(plans)))
        return [kind for kind in allowed(time, looks, made) if kind[1] == (time in plans)]

    enumerated = best_objective(mission, kinds)
    assert best_return(mission) - looks_regrets(mission, plans, mission.looks)[-1] == pytest.approx(
        enumerated, abs=1e-9
    )


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_the_best_looks_on_a_grid_of_which_little_is_reached(execution):
    mission = Mission(rover(51, np.linspace(0.1, 0.4, 8)), 2, planning_horizon=4, execution=execution)
    found = looks_regrets(mission, (1, 4), 7)
    for looks in ((1,), tuple(range(1, 8))):
        apart = mission.with_budget(None, looks=len(looks), plans=2)
        assert found[len(looks) - 1] == pytest.approx(regret(apart, FixedTimes(looks, (1, 4))), abs=1e-9)


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_on_larger_worlds_a_search_finds_no_worse_than_even_plans(execution):
    mission = make_mission(load_setting("thin-ice-medium"), execution=execution)
    floors = look_plan_floors(mission, (1, 2, 4, 39), (1, 2))
    for (looks, plans), found in floors.items():
        even = regret(mission.with_budget(None, looks=looks, plans=plans), Periodic())
        assert found.regret <= even + 1e-9
        assert found.label == "best found"
        times = FixedTimes(periodic_times(40, looks), found.plans)
        assert found.regret <= regret(mission.with_budget(None, looks=looks, plans=plans), times) + 1e-9
    apart = mission.with_budget(None, looks=2, plans=1)
    second = [regret(apart, FixedTimes((1, time), (1,))) for time in range(2, 40)]
    assert floors[2, 1].regret <= min(second) + 1e-9, "the second look is where it helps most"


def turning(horizon, turns):
    """A world in which one action earns 0.1, another one after each turn, and a state tells nothing."""
    right = np.searchsorted(turns, np.arange(horizon), side="right")
    rewards = np.zeros((horizon, 2, len(turns) + 1))
    kernels = np.zeros((horizon, 2, len(turns) + 1, 2))
    rewards[:, 0] = 0.1
    kernels[:, :, :, 1] = 1.0
    for t in range(horizon):
        kernels[t, :, right[t]] = 1.0, 0.0
    return Mission(from_arrays(kernels, rewards, start=0), budget=2, planning_horizon=4)


@pytest.mark.parametrize("turn", [4, 7, 10])
def test_the_search_finds_the_time_at_which_a_plan_is_needed(turn):
    floors = look_plan_floors(turning(16, (turn,)), (1,), (2, 3, 8, 14))
    for (_, count), found in floors.items():
        assert found.regret == pytest.approx(0.1), "the step before the turn is seen"
        assert found.plans[0] == 1 and turn + 1 in found.plans
        assert len(found.plans) == count and found.label == "best found"


def test_a_plan_is_moved_both_ways_to_times_that_are_free():
    moved = shifted((1, 5, 7), 2, first=1, horizon=9)
    assert list(moved) == [(1, 3, 7)], "5 is taken, 9 is the end"
    assert list(shifted((1, 3), 1, first=1, horizon=9)) == [(1, 2), (1, 4)]
    assert list(shifted((2, 3), 2, first=0, horizon=9)) == [(3, 4), (1, 2), (2, 5)], "0 is no time to plan"


def test_the_search_leaves_the_right_look_out():
    mission = Mission(random_world(np.random.default_rng(3), horizon=12), budget=3, planning_horizon=4)
    apart = mission.with_budget(None, looks=10, plans=4)
    found = look_plan_optimum(apart)
    without = [tuple(t for t in range(1, 12) if t != missed) for missed in range(2, 12)]
    regrets = [regret(apart, FixedTimes(looks, found.plans)) for looks in without]
    assert found.label == "best found"
    assert (
        found.regret <= min(regrets) + 1e-9 < regret(apart, FixedTimes(periodic_times(12, 10), found.plans))
    )


def test_the_search_tries_plans_as_late_as_possible():
    mission, late = turning(30, (20, 22, 24, 26, 28)), (1, *range(21, 30))
    apart = mission.with_budget(None, looks=1, plans=10)
    assert look_plan_optimum(apart).regret <= regret(apart, FixedTimes((1,), late)) + 1e-9


def test_updates_that_are_both_win_where_no_better_plans_are_found():
    kernels = np.zeros((24, 2, 2, 2))
    for t in range(24):
        for action in range(2):
            kernels[t, :, action, (action + (t >= 5) + (t >= 16)) % 2] = 1.0
    world = from_arrays(kernels, np.tile([[1.0, 1.0], [0.0, 0.0]], (24, 1, 1)), start=0)
    mission = Mission(world, budget=3, planning_horizon=4)
    floors = look_plan_floors(mission, (1, 2, 5, 23), (3, 4))
    for looks, made in ((2, (1, 6)), (5, (1, 6, 17))):
        apart = mission.with_budget(None, looks=looks, plans=3)
        left_over = FixedTimes((*made, *range(24 - looks + len(made), 24)), (*made, 23)[:3])
        assert floors[looks, 3].regret == pytest.approx(regret(apart, left_over), abs=1e-9)
        assert floors[looks, 3].plans is None and floors[looks, 3].label == "best found"
    assert floors[5, 4].regret == pytest.approx(2.0)
    assert {6, 17} < set(floors[5, 4].plans), "where both do as well the plans are told"


def test_the_size_of_the_programme_is_the_number_of_its_situations():
    mission = Mission(rover(2, np.full(6, 0.1)), budget=3, planning_horizon=2)

    def situations(first, most):
        return [
            (look, plan, since, time)
            for look in range(first, 6)
            for plan in range(min(look, 1), look + 1)
            for count in range(most + 1)
            for since in combinations(range(look + 1, 6), count)
            for time in range(look, 6)
        ]

    for most in (1, 2, 5):
        apart = mission.with_budget(None, looks=3, plans=most)
        priced = mission.with_budget(None, looks=3, plans=most, prices=Prices(0.1))
        for each, first in ((apart, 1), (priced, 0)):
            size = len(situations(first, most))
            assert programme_size(each) == size
            assert best_of_both(each, nodes=size) is not None
            assert best_of_both(each, nodes=size - 1) is None


@given(missions_apart(max_horizon=5))
def test_the_best_of_both_spends_both_budgets(case):
    mission = case[0]
    found = best_of_both(mission)
    assert (found.looks, found.plans) == pytest.approx((mission.looks, mission.plans), abs=1e-9)
    most = min(mission.looks + mission.plans - 1, mission.horizon - 1)
    assert max(mission.looks, mission.plans) - 1e-9 <= found.updates <= most + 1e-9


@given(missions_apart(min_horizon=4, max_horizon=5))
def test_the_optimum_of_a_robot_that_expects_the_world_to_move_equals_enumeration(case):
    mission = replace(case[0], forecast=Given(case[0].world.kernel))
    enumerated = best_objective(mission, any_kind(mission))
    assert best_return(mission) - look_plan_optimum(mission).regret == pytest.approx(enumerated, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("execution", ["map", "belief"])
def test_one_look_and_one_plan_leave_nothing_to_choose(execution, seed):
    world = random_world(np.random.default_rng(seed), horizon=7)
    options = {"execution": execution, "forecast": Given(world.kernel), "looks": 1, "plans": 1}
    mission = Mission(world, None, planning_horizon=3, **options)
    found = evaluate(mission, FixedTimes((1,), (1,)), all_starts=False)
    assert best_of_both(mission).objective == pytest.approx(found.expected_return, abs=1e-9)


def test_what_gains_nothing_is_left_out_even_where_it_is_free():
    mission = turning(6, ()).with_budget(None, prices=Prices())
    found = best_of_both(mission)
    assert found.objective == pytest.approx(0.6)
    assert (found.updates, found.looks, found.plans) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("floor", [True, False])
def test_a_grid_has_the_regret_of_every_pair_of_budgets(floor):
    mission = Mission(rover(3, np.linspace(0.1, 0.5, 6)), budget=2, planning_horizon=3)

    def late(apart):
        return FixedTimes((1, *range(7 - apart.looks, 6)), (1, *range(7 - apart.plans, 6)))

    grid = look_plan_grid(mission, late, (1, 2, 3), (1, 4), floor=floor)
    rules = iter(grid.rules)
    for row, looks in enumerate(grid.looks):
        for column, plans in enumerate(grid.plans):
            apart = mission.with_budget(None, looks=looks, plans=plans)
            assert next(rules) == late(apart)
            assert grid.regrets[row, column] == regret(apart, late(apart))
            if floor:
                assert grid.floors[row, column] == pytest.approx(look_plan_optimum(apart).regret, abs=1e-9)
    assert floor or grid.floors is None


def test_a_grid_has_the_floors_unless_they_are_not_asked_for():
    mission = Mission(rover(2, np.full(4, 0.1)), budget=2, planning_horizon=3)
    assert look_plan_grid(mission, lambda apart: Periodic(), (1,), (1,)).floors.shape == (1, 1)
