"""Missions with prices, against enumeration of all trajectories and all schedules."""

from itertools import chain, combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replan.evaluation.priced_looks_and_plans import priced_optimum, updates_optimum

from enumeration import BOTH, LOOK, NOTHING, PLAN, best_objective, expected_return
from replan import Robot, SimulatedRobot, Spending
from replan.errors import InputError
from replan.evaluation import evaluate, optimum, regret, rollout
from replan.evaluation.agent_runs import run_agent
from replan.evaluation.exact import priced_regret
from replan.evaluation.optimum import feedback_regrets
from replan.evaluation.scale import best_objective as greatest_objective
from replan.execute import Agent, Mission
from replan.execute.timeline import make_timeline
from replan.model import from_arrays
from replan.planning.backward_induction import oracle_return
from replan.schedule import Decision, FixedTimes, Lookahead, Rule, make_rule
from replan.schedule.spending import Prices
from replan.study.protocol import VALIDATION_SEEDS, Bench, validation_regret
from replan.study.rule_source import RULES
from replan.worlds.settings import load_setting, make_mission
from tiny_worlds import random_world, tiny_missions

PRICES = st.sampled_from([0.0, 0.01, 0.1, 0.3, 1.0])
NEED_A_BUDGET = (
    "periodic",
    "best-offset",
    "random",
    "front-loaded",
    "back-loaded",
    "regret-guided",
    "drift-threshold",
)


def priced(mission: Mission, price: float, budget: int | None = None) -> Mission:
    return mission.with_spending(Spending.at_price(price, limit=budget))


def every_subset(mission: Mission):
    times = range(1, mission.horizon)
    return chain.from_iterable(combinations(times, count) for count in range(mission.horizon))


def updating(mission: Mission, most: int):
    """Kinds that a priced robot has, with at most so many updates."""
    return lambda t, looks, plans: [NOTHING, BOTH] if t > 0 and looks < most else [NOTHING]


def best_return(mission: Mission) -> float:
    return float(oracle_return(mission.world)[mission.world.start])


@given(tiny_missions(max_horizon=5), PRICES, st.integers(0, 2**32 - 1))
def test_given_times_are_worth_their_return_minus_their_price(mission, price, seed):
    mission = priced(mission, price)
    chosen = np.random.default_rng(seed).random(mission.horizon) < 0.5
    times = tuple(t for t in range(1, mission.horizon) if chosen[t])
    found = evaluate(mission, FixedTimes(mission.check_times(times)))
    enumerated = expected_return(mission, lambda t, looks: BOTH if t in times else NOTHING)
    assert found.expected_return == pytest.approx(enumerated, abs=1e-9)
    assert found.expected_updates == pytest.approx(len(times), abs=1e-9)
    assert found.objective == pytest.approx(enumerated - price * len(times), abs=1e-9)
    assert found.dynamic_regret >= found.regret - 1e-9


@settings(max_examples=50)
@given(tiny_missions(max_horizon=6), PRICES, st.one_of(st.none(), st.integers(1, 3)))
def test_the_optimum_equals_enumeration_of_all_schedules(mission, price, limit):
    limit = None if limit is None else min(limit, mission.horizon - 1)
    mission = priced(mission, price, limit)
    found = optimum(mission)
    best = best_objective(mission, updating(mission, mission.limit), look_price=price)
    assert found.feedback_objective == pytest.approx(best, abs=1e-9)
    tried = [
        best_return(mission) - priced_regret(mission, FixedTimes(times))
        for times in every_subset(mission)
        if len(times) <= mission.limit
    ]
    assert found.fixed_proved
    assert found.fixed_objective == pytest.approx(max(tried), abs=1e-9)


@given(tiny_missions(max_horizon=7))
def test_without_price_and_budget_the_optimum_is_no_worse_than_the_floor_of_any_budget(mission):
    free = optimum(priced(mission, 0.0))
    floors = feedback_regrets(mission, mission.horizon - 1)
    never = regret(priced(mission, 0.0), FixedTimes(()))
    assert free.feedback_regret <= min(*floors, never) + 1e-9
    assert free.fixed_regret == pytest.approx(
        min(regret(priced(mission, 0.0), FixedTimes(times)) for times in every_subset(mission)), abs=1e-9
    )


@pytest.mark.parametrize("name", ["crosswind-hard", "thin-ice-medium"])
def test_free_updates_without_a_limit_reach_the_least_floor_of_all_budgets(name):
    mission = make_mission(load_setting(name))
    floors = feedback_regrets(mission, mission.horizon - 1)
    assert optimum(priced(mission, 0.0), nodes=1).feedback_regret == pytest.approx(floors.min(), abs=1e-6)


@given(tiny_missions(max_horizon=6))
def test_the_optimum_updates_less_often_the_higher_the_price(mission):
    found = [optimum(priced(mission, price)) for price in (0.0, 0.02, 0.1, 0.5, 100.0)]
    counts = [each.feedback_updates for each in found]
    assert all(less <= more + 1e-9 for more, less in pairwise(counts))
    assert counts[-1] == 0
    assert found[-1].fixed_times == ()


@given(tiny_missions(max_horizon=6), PRICES)
def test_lookahead_never_beats_the_optimum_and_makes_no_update_that_costs_too_much(mission, price):
    mission = priced(mission, price)
    found = evaluate(mission, Lookahead())
    assert found.objective <= optimum(mission).feedback_objective + 1e-9
    assert evaluate(priced(mission, 100.0), Lookahead()).expected_updates == 0


@given(tiny_missions(max_horizon=6), PRICES, st.integers(0, 1000))
def test_agents_rollouts_and_exact_evaluation_agree_on_the_number_of_updates(mission, price, seed):
    mission = priced(mission, price)
    rule = Lookahead()
    agent = Agent.on(mission, rule)
    robot = SimulatedRobot(mission.world, seed=seed)
    agent.start(robot.look())
    while not agent.done:
        if agent.due().update:
            agent.update(robot.look())
        robot.do(agent.act())
    made = sum(event.what == "update" for event in agent.log)
    assert rollout(mission, rule, [seed]).update_counts.tolist() == [made]


@pytest.mark.parametrize("name", sorted(RULES))
def test_rules_that_need_a_budget_refuse_prices_alone_and_all_others_run(name):
    mission = priced(make_mission(load_setting("two-burst")), 0.05)
    rule = make_rule(name)
    if name in NEED_A_BUDGET:
        with pytest.raises(InputError, match=f"{name} needs a budget"):
            regret(mission, rule)
        rule_with_limit = evaluate(priced(mission, 0.05, 6), rule, all_starts=False)
        assert 0 < rule_with_limit.expected_updates <= 6 + 1e-9
    else:
        assert 0 <= evaluate(mission, rule, all_starts=False).expected_updates <= mission.horizon - 1


def test_a_threshold_counts_the_drift_before_the_first_update_too():
    mission = priced(make_mission(load_setting("two-burst")), 0.05)
    drift = mission.world.drift_bounds.cumsum()
    timeline = make_timeline(mission, make_rule("self-triggered", threshold=0.1))
    assert drift[timeline.times[0] - 1] >= 0.1 > drift[timeline.times[0] - 2]


def test_a_mission_needs_a_budget_or_a_price():
    mission = make_mission(load_setting("two-burst"))
    with pytest.raises(InputError, match="a budget or a price"):
        mission.with_spending(Spending.exactly(None))
    with pytest.raises(InputError, match="price of a look"):
        Prices(look=-1.0)


def parts(mission: Mission):
    """Kinds that a robot has that pays for looks and plans apart, within its limits."""
    looks_limit, plans_limit = mission.config.budgets

    def kinds(time, looks, plans):
        return [
            (look, plan)
            for look, plan in (NOTHING, LOOK, PLAN, BOTH)
            if time > 0 or not (look or plan)
            if looks + look <= looks_limit and plans + plan <= plans_limit
        ]

    return kinds


@st.composite
def priced_apart(draw, **options):
    """A tiny mission with prices of looks and of plans: with no limit, one for both, or two."""
    mission = draw(tiny_missions(**options))
    prices = Prices(draw(PRICES), draw(PRICES), apart=True)
    count = st.integers(1, mission.horizon - 1)
    limits = draw(st.sampled_from(["none", "one", "two"]))
    if limits == "two":
        return mission.with_budget(None, looks=draw(count), plans=draw(count), prices=prices)
    return mission.with_budget(draw(count) if limits == "one" else None, prices=prices)


@settings(max_examples=50)
@given(priced_apart(max_horizon=4))
def test_the_optimum_with_prices_of_both_equals_enumeration_of_all_looks_and_plans(mission):
    prices, found = mission.spending.price, priced_optimum(mission)
    best = best_objective(mission, parts(mission), look_price=prices.look, plan_price=prices.plan)
    assert found.label == "optimal"
    assert found.best.objective == pytest.approx(best, abs=1e-9)
    assert greatest_objective(mission) == pytest.approx(best, abs=1e-9)
    paid = prices.paid(found.best.looks, found.best.plans)
    assert best_return(mission) - found.regret - paid == pytest.approx(best, abs=1e-9)


@settings(max_examples=25)
@given(priced_apart(max_horizon=5))
def test_the_search_finds_a_schedule_between_updates_that_are_both_and_the_optimum(mission):
    prices, found, together = (
        mission.spending.price,
        priced_optimum(mission, nodes=0),
        updates_optimum(mission),
    )
    assert found.label == "best found"
    assert together.feedback_objective - 1e-9 <= found.best.objective
    assert found.best.objective <= priced_optimum(mission).best.objective + 1e-9
    if found.plan_times is None:
        return
    allowed = parts(mission)

    def kinds(time, looks, plans):
        return [kind for kind in allowed(time, looks, plans) if kind[1] == (time in found.plan_times)]

    best = best_objective(mission, kinds, look_price=prices.look, plan_price=prices.plan)
    assert found.best.objective == pytest.approx(best, abs=1e-9)
    assert found.best.plans == len(found.plan_times)
    free = best_objective(mission, kinds, look_price=0.0, plan_price=prices.plan)
    assert -found.regret <= free + prices.plan * found.best.plans - best_return(mission) + 1e-9
    assert 0 <= found.best.looks <= min(mission.config.budgets[0], mission.horizon - 1) + 1e-9
    assert max(found.best.looks, found.best.plans) - 1e-9 <= found.best.updates
    assert found.best.updates <= found.best.looks + found.best.plans + 1e-9


@given(priced_apart(max_horizon=6))
def test_a_prohibitive_price_leaves_nothing_to_do(mission):
    found = priced_optimum(mission.with_budget(None, prices=Prices(100.0, 100.0, apart=True)))
    assert (found.best.looks, found.best.plans, found.best.updates) == (0, 0, 0)


def test_looks_alone_are_worth_more_than_updates_where_the_plan_hardly_matters():
    mission = make_mission(load_setting("two-burst"))
    mission = mission.with_budget(None, prices=Prices(0.05, 0.05, apart=True))
    found, together = priced_optimum(mission), updates_optimum(mission)
    assert found.plan_times == ()
    assert found.best.objective > together.feedback_objective + 0.1
    assert greatest_objective(mission) is None  # takes long, and what is found is no bound


@pytest.mark.parametrize(
    ("horizon", "turns"),
    [(10, (3,)), (10, (4,)), (10, (5,)), (10, (6,)), (10, (2, 6)), (10, (3, 7)), (20, (17,)), (20, (7, 15))],
)
def test_the_search_finds_the_times_at_which_plans_are_needed(horizon, turns):
    """One action leads to the reward, after each turn the other one; looks cost too much."""
    right = np.searchsorted(turns, np.arange(horizon), side="right") % 2
    kernels = np.zeros((horizon, 2, 2, 2))
    for t, action in enumerate(right):
        kernels[t, :, action, 0] = kernels[t, :, 1 - action, 1] = 1.0
    world = from_arrays(kernels, np.tile([[1.0, 1.0], [0.0, 0.0]], (horizon, 1, 1)), start=0)
    mission = Mission(world, None, planning_horizon=4, prices=Prices(100.0, 0.1, apart=True))
    found = priced_optimum(mission, nodes=0)
    assert found.plan_times == tuple(turn + 1 for turn in turns)
    assert found.best.objective == pytest.approx(horizon - 1.1 * len(turns), abs=1e-9)


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("limit", [None, 1, 2])
def test_where_plans_cost_too_much_the_search_finds_the_optimum_and_its_looks(limit, execution):
    world = random_world(np.random.default_rng(3), horizon=6)
    mission = Mission(
        world, Robot(planning_horizon=4, execution=execution), Spending.at_price(100.02, limit=limit)
    )
    found, exact = priced_optimum(mission, nodes=0), priced_optimum(mission)
    assert found.plan_times == ()
    assert exact.best.looks == pytest.approx(limit or 3.68, abs=0.01)
    for part in ("objective", "looks", "plans", "updates"):
        assert getattr(found.best, part) == pytest.approx(getattr(exact.best, part), abs=1e-9)


def test_priced_regret_is_the_regret_and_what_was_paid():
    mission = make_mission(load_setting("two-burst")).with_spending(Spending.at_price(0.12000000000000001))
    rule = FixedTimes((5, 20), (20, 30, 40))
    assert priced_regret(mission, rule) == pytest.approx(regret(mission, rule) + 0.26, abs=1e-9)
    assert regret(mission, rule) == pytest.approx(evaluate(mission, rule).regret, abs=1e-9)


class Parts(Rule):
    """Looks at every third time and plans at every fourth."""

    def decide(self, context):
        look, plan = context.time % 3 == 0, context.time % 4 == 0
        return Decision(look or plan, "by the time", look=look, plan=plan)


class Plans(Rule):
    """Plans at every fourth time, without a look."""

    def decide(self, context):
        return Decision(context.time % 4 == 0, "every fourth", look=False)


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("rule", [Parts(), Plans()], ids=lambda rule: rule.name)
def test_rollouts_of_looks_and_plans_alone_average_to_the_exact_figures(rule, execution):
    mission = make_mission(load_setting("two-burst"), execution=execution)
    mission = mission.with_spending(Spending.at_price(0.12000000000000001))
    exact, rolled = evaluate(mission, rule, all_starts=False), rollout(mission, rule, range(2000))
    spread = max(rolled.returns.std(), 1e-9) / 2000**0.5
    assert abs(rolled.returns.mean() - exact.expected_return) < 5 * spread
    assert rolled.look_counts.mean() == pytest.approx(exact.expected_looks, abs=1e-9)
    assert rolled.plan_counts.mean() == pytest.approx(exact.expected_plans, abs=1e-9)
    assert not exact.updates_are_both
    run = run_agent(mission, rule, seed=3)
    assert rollout(mission, rule, [3]).returns[0] == pytest.approx(run.total_reward, abs=1e-9)


def test_validation_charges_looks_and_plans_apart():
    mission = make_mission(load_setting("two-burst")).with_spending(Spending.at_price(0.12000000000000001))
    free = mission.with_spending(Spending.at_price(0.0))
    charged = validation_regret(Bench(mission), Plans()) - validation_regret(Bench(free), Plans())
    made = rollout(mission, Plans(), VALIDATION_SEEDS)
    assert charged == pytest.approx(0.02 * made.plan_counts.mean(), abs=1e-9)


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_with_one_budget_a_look_alone_is_an_update(execution):
    mission = make_mission(load_setting("two-burst"), execution=execution)
    found = evaluate(mission, Parts(), all_starts=False)
    budget = pytest.approx(mission.spending.limit, abs=1e-9)
    assert found.expected_updates == found.expected_looks == found.expected_plans == budget
    run = run_agent(mission, Parts(), seed=0)
    assert all(decision.look and decision.plan for _, decision in run.decisions if decision.update)
    assert len(run.times) == mission.spending.limit
