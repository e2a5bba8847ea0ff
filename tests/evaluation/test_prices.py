"""Missions with prices, against enumeration of all trajectories and all schedules."""

from dataclasses import replace
from itertools import chain, combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enumeration import best_objective, expected_return
from replan import SimulatedRobot, Spending
from replan.errors import InputError
from replan.evaluation.agent_runs import run_agent
from replan.evaluation.exact import evaluate, regret
from replan.evaluation.optimal_schedule import feedback_regrets, optimum
from replan.evaluation.rollouts import rollout
from replan.evaluation.scale import best_objective as greatest_objective
from replan.execute.agent import Agent
from replan.execute.mission import Mission, make_timeline
from replan.forecast.mixture import Mixture
from replan.forecast.trend import Trend
from replan.model.sizes import Sizes
from replan.planning.optimal_values import oracle_return
from replan.schedule.fixed import FixedTimes
from replan.schedule.lookahead import Lookahead
from replan.schedule.registry import make_rule
from replan.schedule.rule import Decision, Rule
from replan.study.protocol import VALIDATION_SEEDS, Bench, validation_regret
from replan.worlds.settings import list_names, load_setting, make_mission
from tiny_worlds import tiny_missions

PRICES = st.sampled_from([0.0, 0.01, 0.1, 0.3, 1.0])
NEED_A_BUDGET = (
    "periodic",
    "best-offset",
    "random",
    "front-loaded",
    "back-loaded",
    "regret-guided",
    "drift-threshold",
    "even",
)
FOR_LOCALISED = ("last-moment", "gain")


def priced(mission: Mission, price: float, budget: int | None = None) -> Mission:
    return mission.with_spending(Spending.at_price(price, limit=budget))


def every_subset(mission: Mission):
    times = range(1, mission.horizon)
    return chain.from_iterable(combinations(times, count) for count in range(mission.horizon))


def best_return(mission: Mission) -> float:
    return float(oracle_return(mission.world)[mission.world.start])


@given(tiny_missions(max_horizon=5), PRICES, st.integers(0, 2**32 - 1))
def test_given_times_are_worth_their_return_minus_their_price(mission, price, seed):
    mission = priced(mission, price)
    chosen = np.random.default_rng(seed).random(mission.horizon) < 0.5
    times = tuple(t for t in range(1, mission.horizon) if chosen[t])
    found = evaluate(mission, FixedTimes(mission.check_times(times)))
    enumerated = expected_return(mission, times)
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
    best = best_objective(mission, most=mission.limit, price=price)
    assert found.feedback_objective == pytest.approx(best, abs=1e-9)
    assert greatest_objective(mission) == pytest.approx(best, abs=1e-9)
    tried = [
        evaluate(mission, FixedTimes(times), all_starts=False).objective
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
    assert optimum(replace(priced(mission, 0.0), sizes=Sizes(schedules=1))).feedback_regret == pytest.approx(
        floors.min(), abs=1e-6
    )


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


@pytest.mark.parametrize("name", list_names("rules"))
def test_rules_that_need_a_budget_refuse_prices_alone_and_all_others_run(name):
    execution = "localised" if name in FOR_LOCALISED else "map"
    mission = priced(make_mission(load_setting("two-burst"), execution=execution), 0.05)
    rule = make_rule(name)
    if name in NEED_A_BUDGET:
        with pytest.raises(InputError, match=f"{name} needs a budget"):
            regret(mission, rule)
        rule_with_limit = evaluate(priced(mission, 0.05, 6), rule, all_starts=False)
        assert 0 < rule_with_limit.expected_updates <= 6 + 1e-9
    else:
        updates = evaluate(mission, rule, all_starts=False).expected_updates
        assert 0 <= updates <= mission.horizon - 1 + 1e-9


def test_a_threshold_counts_the_drift_before_the_first_update_too():
    mission = priced(make_mission(load_setting("two-burst")), 0.05)
    drift = mission.world.drift_bounds.cumsum()
    timeline = make_timeline(mission, make_rule("self-triggered", threshold=0.1))
    assert drift[timeline.times[0] - 1] >= 0.1 > drift[timeline.times[0] - 2]


def test_a_mission_needs_a_budget_or_a_price():
    with pytest.raises(InputError, match="a budget or a price"):
        Spending()
    with pytest.raises(InputError, match="price of an update"):
        Spending.at_price(-1.0)


@given(tiny_missions(max_horizon=6), PRICES)
def test_the_greatest_objective_is_that_of_the_optimum(mission, price):
    mission = priced(mission, price)
    assert greatest_objective(mission) == pytest.approx(optimum(mission).feedback_objective, abs=1e-9)


@pytest.mark.parametrize("forecast", [Trend(), Mixture()], ids=lambda forecast: forecast.name)
def test_no_greatest_objective_is_claimed_where_that_takes_long(forecast):
    mission = make_mission(load_setting("thin-ice-mild"))
    mission = priced(replace(mission, robot=replace(mission.robot, forecast=forecast)), 0.1)
    assert greatest_objective(replace(mission, sizes=Sizes(shown_compared_floor=1))) is None


def test_priced_regret_is_the_regret_and_what_was_paid():
    mission = priced(make_mission(load_setting("two-burst")), 0.12)
    rule = FixedTimes((5, 20))
    assert evaluate(mission, rule).priced_regret == pytest.approx(regret(mission, rule) + 0.24, abs=1e-9)


class EveryFourth(Rule):
    """Updates at every fourth time."""

    def decide(self, context):
        return Decision(context.time % 4 == 0, "every fourth")


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_rollouts_average_to_the_exact_figures(execution):
    mission, rule = priced(make_mission(load_setting("two-burst"), execution=execution), 0.12), EveryFourth()
    exact, rolled = evaluate(mission, rule, all_starts=False), rollout(mission, rule, range(2000))
    spread = max(rolled.returns.std(), 1e-9) / 2000**0.5
    assert abs(rolled.returns.mean() - exact.expected_return) < 5 * spread
    assert rolled.update_counts.mean() == pytest.approx(exact.expected_updates, abs=1e-9) == 12
    run = run_agent(mission, rule, seed=3)
    assert rollout(mission, rule, [3]).returns[0] == pytest.approx(run.total_reward, abs=1e-9)


def test_validation_charges_every_update():
    mission, rule = make_mission(load_setting("two-burst")), EveryFourth()
    charged, free = (validation_regret(Bench(priced(mission, price)), rule) for price in (0.12, 0.0))
    made = rollout(priced(mission, 0.12), rule, VALIDATION_SEEDS)
    assert charged - free == pytest.approx(0.12 * made.update_counts.mean(), abs=1e-9)
