"""Missions with prices, against enumeration of all trajectories and all schedules."""

from itertools import chain, combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enumeration import BOTH, NOTHING, best_objective, expected_return
from replan.errors import InputError
from replan.evaluation import evaluate, feedback_regrets, optimum, regret, rollout
from replan.evaluation.exact import priced_regret
from replan.execute import Agent, Mission, SimulatedRobot
from replan.execute.timeline import make_timeline
from replan.planning.backward_induction import oracle_return
from replan.schedule import FixedTimes, Lookahead, Prices, make_rule
from replan.study.rule_source import RULES
from replan.worlds.settings import load_setting, make_mission
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
)


def priced(mission: Mission, price: float, budget: int | None = None) -> Mission:
    return mission.with_budget(budget, prices=Prices(look=price))


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
        mission.with_budget(None)
    with pytest.raises(InputError, match="price of a look"):
        Prices(look=-1.0)
