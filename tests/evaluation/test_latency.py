"""Updates that take time, against a literal robot on tiny worlds (convention 15)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from tests.late_robot import LateMission, Moment
from tests.tiny_worlds import random_world

from replan import InputError, Robot, Spending, evaluate, optimum, rollout
from replan.evaluation.decomposition import decompose
from replan.evaluation.exact import all_returns, evaluate_times
from replan.evaluation.optimal_schedule import feedback_regrets, feedback_value, has_optimum
from replan.evaluation.visited_steps import draws_times
from replan.execute.mission import Mission, make_timeline
from replan.forecast.trend import Trend
from replan.schedule.fixed import BackLoaded, FixedTimes, FrontLoaded
from replan.schedule.periodic import Periodic
from replan.schedule.rule import Context, Decision, Need, Rule

EXECUTIONS, MEANWHILES = ("map", "belief", "localised"), ("go-on", "wait")
DURATIONS = (0, 1, 2, 3, {0: 0.25, 2: 0.75}, {1: 0.5, 3: 0.5})


def late_mission(seed: int, execution: str, steps, meanwhile: str, *, horizon: int = 7, **options) -> Mission:
    rng = np.random.default_rng(seed)
    world = random_world(rng, states=3, actions=3, horizon=horizon, next_state_reward=bool(seed % 2))
    world = replace(world, waiting=1)
    robot = {"planning_horizon": 3, "execution": execution, "update_steps": steps, "meanwhile": meanwhile}
    return Mission(world, Robot(**robot, **options), Spending.at_most(2))


def scheduled(times: tuple[int, ...], limit: int):
    """Update at the k-th time, or as soon as possible after it."""
    return lambda moment: (limit - moment.left < len(times) and moment.time >= times[limit - moment.left],)


@pytest.mark.parametrize(
    ("execution", "steps", "meanwhile"), list(product(EXECUTIONS, DURATIONS, MEANWHILES)), ids=str
)
def test_exact_evaluation_is_that_of_the_literal_robot(execution, steps, meanwhile):
    for seed in range(4):
        mission = late_mission(seed, execution, steps, meanwhile)
        literal = LateMission(mission)
        for times in ((1, 2), (1, 5), (1, 6)):
            expected = literal.value(scheduled(times, 2))
            assert evaluate_times(mission, times).expected_return == pytest.approx(expected, abs=1e-12)


@dataclass(frozen=True)
class Table(Rule):
    """Decides by a table of (time, last update, state)."""

    seed: int = 0
    needs = frozenset({Need.STATE})

    def due(self, time: int, last_update: int, state: int) -> bool:
        return np.random.default_rng([self.seed, time, last_update, state]).random() < 0.4

    def options(self, moment: Moment) -> tuple[bool, ...]:
        return (self.due(moment.time, moment.last_update, moment.seen),)

    def decide(self, context: Context) -> Decision:
        return Decision(self.due(context.time, context.last_update, context.state), "by the table")


def obeying(spending: Spending, mission: Mission, rule: Table, spacing: int):
    """The table's answers, with the first update at 1 and an exact budget."""

    def options(moment: Moment) -> tuple[bool, ...]:
        first = moment.last_update == 0 and spending.first_is_forced and not mission.robot.sees
        forced = spending.exact and not mission.robot.sees
        forced = forced and moment.left * spacing >= mission.horizon - moment.time
        return (True,) if first or forced else rule.options(moment)

    return options


@pytest.mark.parametrize(
    ("execution", "steps", "meanwhile"), list(product(EXECUTIONS, DURATIONS, MEANWHILES)), ids=str
)
def test_rules_that_depend_on_the_state_too(execution, steps, meanwhile):
    for seed, spending in product(range(2), (Spending.at_most(2), Spending.exactly(2))):
        mission = late_mission(seed, execution, steps, meanwhile).with_spending(spending)
        literal, rule = LateMission(mission), Table(seed)
        expected = literal.value(obeying(spending, mission, rule, literal.spacing))
        result = evaluate(mission, rule)
        assert result.expected_return == pytest.approx(expected, abs=1e-12)
        assert all_returns(mission, rule)[mission.world.start] == pytest.approx(expected, abs=1e-12)
        assert result.steps.loss.sum() == pytest.approx(result.regret, abs=1e-12)


@pytest.mark.parametrize(
    ("execution", "steps", "meanwhile"),
    list(product(EXECUTIONS, (1, 2, {1: 0.5, 3: 0.5}), MEANWHILES)),
    ids=str,
)
def test_forecasts_that_compare_two_estimates(execution, steps, meanwhile):
    for seed in range(2):
        mission = late_mission(seed, execution, steps, meanwhile, horizon=8, forecast=Trend())
        mission = mission.with_spending(Spending.at_most(3))
        literal, rule = LateMission(mission), Table(seed)
        for options, asked in ((obeying(mission.spending, mission, rule, literal.spacing), rule),):
            expected = literal.value(options)
            assert evaluate(mission, asked).expected_return == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_rollouts_sample_drawn_durations(execution):
    mission = late_mission(3, execution, {1: 0.5, 3: 0.5}, "go-on")
    rule, seeds = Table(1), np.arange(20_000)
    sampled = rollout(mission, rule, seeds).returns
    expected = evaluate(mission, rule).expected_return
    assert abs(sampled.mean() - expected) < 4 * sampled.std() / len(seeds) ** 0.5


def test_the_times_of_a_rule_differ_between_seeds_where_durations_do():
    for steps, differ in ((2, False), ({1: 0.5, 3: 0.5}, True)):
        mission = late_mission(0, "map", steps, "go-on", horizon=12).with_spending(Spending.exactly(3))
        rule = FixedTimes((1, 3, 9))
        assert draws_times(mission, rule) == differ
        updates = rollout(mission, rule, np.arange(50), trace=True).updates
        assert (len(np.unique(updates, axis=0)) > 1) == differ


def test_front_loaded_updates_begin_when_the_last_one_has_arrived():
    mission = late_mission(0, "map", 2, "go-on").with_spending(Spending.exactly(3))
    assert make_timeline(mission, FrontLoaded()).times == (1, 3, 5)
    assert make_timeline(mission, BackLoaded()).times == (1, 3, 5)
    assert make_timeline(mission.with_spending(Spending.exactly(2)), BackLoaded()).times == (1, 5)


def test_fixed_times_that_fall_into_running_updates_move_to_their_ends():
    mission = late_mission(0, "map", 3, "go-on", horizon=12).with_spending(Spending.exactly(3))
    assert make_timeline(mission, FixedTimes((1, 2, 3))).times == (1, 4, 7)
    assert make_timeline(mission, FixedTimes((1, 3, 9))).times == (1, 4, 9)
    assert make_timeline(mission, Periodic()).times == (1, 6, 9), "forced: one left, three steps to go"


def test_what_cannot_be_is_refused_in_one_line():
    with pytest.raises(InputError, match="budget 3 does not fit: updates of 3 steps leave room for 2 in 7"):
        late_mission(0, "map", 3, "go-on").with_spending(Spending.exactly(3))
    for execution in EXECUTIONS:
        with pytest.raises(InputError, match="updates of 7 steps never arrive in 7 steps"):
            late_mission(0, execution, 7, "go-on").with_spending(Spending.at_most(1))
    with pytest.raises(InputError, match="action that stays"):
        mission = late_mission(0, "map", 3, "wait")
        replace(mission, world=replace(mission.world, waiting=None))
    for wrong in (-1, 1.5, True, {1: 0.5}, {1: 1.2, 2: -0.2}, {-1: 1.0}, "2"):
        with pytest.raises(InputError, match="update_steps"):
            Robot(planning_horizon=2, update_steps=wrong)
    with pytest.raises(InputError, match="meanwhile"):
        Robot(planning_horizon=2, meanwhile="hover")


@pytest.mark.parametrize(
    ("execution", "steps", "meanwhile"), list(product(EXECUTIONS, DURATIONS, MEANWHILES)), ids=str
)
def test_the_floor_is_the_best_of_all_decisions_of_the_literal_robot(execution, steps, meanwhile):
    spendings = (
        Spending.exactly(2),
        Spending.at_most(2),
        Spending.at_price(0.05),
        Spending.at_price(0.1, limit=1),
    )
    for seed, spending in enumerate(spendings):
        mission = late_mission(seed, execution, steps, meanwhile, horizon=6).with_spending(spending)
        literal = LateMission(mission)

        def options(moment: Moment, mission=mission, spacing=literal.spacing) -> tuple[bool, ...]:
            spending = mission.spending
            if mission.robot.sees:
                return (False, True)
            first = moment.last_update == 0 and spending.first_is_forced
            late = spending.exact and moment.left * spacing >= mission.horizon - moment.time
            return (True,) if first or late else (False, True)

        best, price = literal.value(options, price=spending.price or 0.0), spending.price or 0.0
        found = optimum(mission)
        assert found.feedback_objective == pytest.approx(best, abs=1e-12)
        assert found.feedback_updates * price <= 0.05 * 6
        assert found.fixed_regret == pytest.approx(
            evaluate(mission, FixedTimes(found.fixed_times)).regret, abs=1e-12
        )


def test_the_floor_of_a_blind_robot_whose_forecast_compares_late_estimates_is_refused():
    mission = late_mission(1, "belief", 2, "go-on", forecast=Trend())
    assert not has_optimum(mission)
    for ask in (optimum, feedback_value, lambda each: feedback_regrets(each, 2)):
        with pytest.raises(InputError, match="not computed for the forecast trend"):
            ask(mission)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_updates_that_mostly_never_arrive_have_a_floor_too(execution):
    mission = late_mission(2, execution, {2: 0.2, 30: 0.8}, "go-on").with_spending(Spending.at_most(1))
    found, evaluated = optimum(mission), LateMission(mission)
    assert found.fixed_regret == pytest.approx(evaluate_times(mission, found.fixed_times).regret, abs=1e-12)
    first = (lambda moment: (True,)) if execution != "localised" else lambda moment: (False, True)
    assert found.feedback_objective == pytest.approx(evaluated.value(first), abs=1e-12)


@pytest.mark.parametrize(("steps", "meanwhile"), list(product((1, 2, {1: 0.5, 3: 0.5}), MEANWHILES)), ids=str)
def test_the_floor_of_a_localised_robot_whose_forecast_compares_estimates(steps, meanwhile):
    mission = late_mission(1, "localised", steps, meanwhile, horizon=7, forecast=Trend())
    mission = mission.with_spending(Spending.at_most(3))
    best = LateMission(mission).value(lambda moment: (False, True))
    assert optimum(mission).feedback_objective == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(("execution", "steps"), list(product(EXECUTIONS, (1, 2))))
def test_no_fixed_times_are_better_than_the_best(execution, steps):
    mission = late_mission(2, execution, steps, "go-on", horizon=7).with_spending(Spending.exactly(2))
    found = optimum(mission)
    first = range(1, 7) if mission.robot.sees else (1,)
    tried = [
        evaluate_times(mission, (a, b)).regret for a in first for b in range(a + steps, 7) if b <= 7 - steps
    ]
    assert found.fixed_regret <= min(tried) + 1e-12
    if not mission.robot.sees:
        assert found.fixed_regret == pytest.approx(min(tried), abs=1e-12)


@pytest.mark.parametrize(("execution", "steps"), list(product(EXECUTIONS, (2, {1: 0.5, 3: 0.5}))), ids=str)
def test_lateness_is_what_the_same_updates_would_save_if_they_took_no_time(execution, steps):
    mission = late_mission(1, execution, steps, "go-on", horizon=9)
    parts = decompose(mission, FixedTimes((1, 5)))
    assert parts.regret == pytest.approx(evaluate_times(mission, (1, 5)).regret, abs=1e-12)
    assert sum(parts.parts.values()) == pytest.approx(parts.regret, abs=1e-12)
    prompt = replace(mission, robot=replace(mission.robot, update_steps=0))
    saved = parts.regret - evaluate_times(prompt, (1, 5)).regret
    assert parts.lateness == pytest.approx(saved, abs=1e-12)
    assert decompose(prompt, FixedTimes((1, 5))).lateness is None
