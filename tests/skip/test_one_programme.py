"""The one programme against a literal robot that shares no code with it, on tiny worlds.

Floors, returns by rules that depend on the state, losses and updates of each step and the returns of all
starts, for every execution, fixed and drawn durations, both ways to spend the meantime, all spendings, and
forecasts that compare two estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from tests.late_robot import LateMission, Moment
from tests.tiny_worlds import late_mission

from replan import Context, Decision, InputError, Mission, Need, Rule, Spending, evaluate, optimum
from replan.evaluation.exact import evaluate_times
from replan.evaluation.optimal_schedule import feedback_regrets
from replan.evaluation.visits import Follow
from replan.forecast.trend import Trend
from replan.schedule.fixed import FixedTimes

EXECUTIONS, MEANWHILES = ("map", "belief", "localised"), ("go-on", "wait")
DURATIONS = (0, 1, 2, 3, {0: 0.25, 2: 0.75}, {1: 0.5, 3: 0.5})
SPENDINGS = (
    Spending.exactly(2),
    Spending.at_most(2),
    Spending.at_price(0.05),
    Spending.at_price(0.1, limit=1),
)
KINDS = list(product(EXECUTIONS, DURATIONS, MEANWHILES))
SEEDS = 4
"""Missions of each kind, spending and forecast: 36 x 4 x 2 x 4 = 1152."""


@dataclass(frozen=True)
class Table(Rule):
    """Decides by a table of (time, last update, state)."""

    seed: int = 0
    needs = frozenset({Need.STATE})

    def due(self, time: int, last_update: int, state: int) -> bool:
        return np.random.default_rng([self.seed, time, last_update, state]).random() < 0.4

    def decide(self, context: Context) -> Decision:
        return Decision(self.due(context.time, context.last_update, context.state), "by the table")


def anything_allowed(mission: Mission, spacing: int):
    """Both answers, but for the first update of a budget and those that an exact one forces."""

    def options(moment: Moment) -> tuple[bool, ...]:
        spending = mission.spending
        if mission.robot.sees:
            return (False, True)
        first = moment.last_update == 0 and spending.first_is_forced
        late = spending.exact and moment.left * spacing >= mission.horizon - moment.time
        return (True,) if first or late else (False, True)

    return options


def obeying(mission: Mission, rule: Table, spacing: int):
    """The table's answers, where there are two."""
    allowed = anything_allowed(mission, spacing)

    def options(moment: Moment) -> tuple[bool, ...]:
        choice = allowed(moment)
        return choice if len(choice) == 1 else (rule.due(moment.time, moment.last_update, moment.seen),)

    return options


def literal_losses(literal: LateMission, options, best) -> tuple[np.ndarray, np.ndarray]:
    """(T,) expected loss and (T,) probability of an update at each time, by the literal robot."""
    losses, updates = np.zeros((2, literal.world.horizon))

    def acted(robot, weight, updated):
        for s, p in enumerate(robot.places):
            losses[robot.time] += weight * p * best.loss(robot.time)[s, literal.action(robot)]
        updates[robot.time] += weight if updated else 0.0
        follow(literal.acted(robot)[1], weight)

    def follow(robot, weight):
        if robot.time == literal.world.horizon:
            return
        robot = literal.arrived(robot)
        rows = [(1.0, robot)]
        if literal.robot.sees:
            eye = np.eye(len(robot.places))
            rows = [(p, replace(robot, places=eye[s], seen=s)) for s, p in enumerate(robot.places) if p > 0]
        for p, each in rows:
            asked = each.time >= 1 and each.left > 0 and each.pending is None and each.last_update < each.time
            moment = Moment(each.time, each.last_update, each.left, each.seen, each.plan)
            if not (asked and options(moment)[0]):
                acted(each, weight * p, False)
                continue
            for s, q in enumerate(each.places):
                for steps, chance in literal.durations.items():
                    if q > 0:
                        acted(literal.updated(each, s, steps), weight * p * q * chance, True)

    follow(literal.start(), 1.0)
    return losses, updates


@pytest.mark.parametrize("forecast", [{}, {"forecast": Trend()}], ids=["frozen", "compares"])
@pytest.mark.parametrize(("execution", "steps", "meanwhile"), KINDS, ids=str)
def test_floors_and_returns_are_those_of_the_literal_robot(execution, steps, meanwhile, forecast):
    for seed, spending in product(range(SEEDS), SPENDINGS):
        mission = late_mission(seed, execution, steps, meanwhile, **forecast).with_spending(spending)
        literal, price = LateMission(mission), spending.price or 0.0
        best = literal.value(anything_allowed(mission, literal.spacing), price=price)
        found = optimum(mission)
        assert found.feedback_objective == pytest.approx(best, abs=1e-12)
        fixed = evaluate_times(mission, found.fixed_times)
        assert found.fixed_regret == pytest.approx(fixed.regret, abs=1e-12)
        assert found.fixed_objective <= best + 1e-12
        rule = Table(seed)
        expected = literal.value(obeying(mission, rule, literal.spacing), price=price)
        result = evaluate(mission, rule)
        assert result.objective == pytest.approx(expected, abs=1e-12)
        assert result.steps.loss.sum() == pytest.approx(result.regret, abs=1e-12)
        start = mission.world.start
        assert Follow(mission, rule).returns()[start] == pytest.approx(result.expected_return, abs=1e-12)


@pytest.mark.parametrize(("execution", "steps", "meanwhile"), KINDS, ids=str)
def test_each_step_loses_and_updates_as_that_of_the_literal_robot(execution, steps, meanwhile):
    from replan.planning.optimal_values import oracle

    for seed, spending in product(range(2), SPENDINGS):
        mission = late_mission(seed, execution, steps, meanwhile).with_spending(spending)
        literal, rule = LateMission(mission), Table(seed)
        losses, updates = literal_losses(
            literal, obeying(mission, rule, literal.spacing), oracle(mission.world)
        )
        result = evaluate(mission, rule)
        assert result.steps.loss == pytest.approx(losses, abs=1e-12)
        assert result.steps.update_probability == pytest.approx(updates, abs=1e-12)


@pytest.mark.parametrize(("execution", "steps"), list(product(EXECUTIONS, (0, 2, {1: 0.5, 3: 0.5}))), ids=str)
def test_every_start_has_the_return_of_a_mission_that_begins_there(execution, steps):
    for seed, spending in product(range(3), SPENDINGS):
        mission = late_mission(seed, execution, steps, "go-on", horizon=8).with_spending(spending)
        returns = Follow(mission, Table(seed)).returns()
        for start in range(mission.world.states):
            there = replace(mission, world=replace(mission.world, start=start))
            assert evaluate(there, Table(seed)).expected_return == pytest.approx(returns[start], abs=1e-12)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_floors_of_all_budgets_come_from_one_programme(execution):
    for seed, steps in product(range(4), (0, 1, {0: 0.5, 2: 0.5})):
        mission = late_mission(seed, execution, steps, "go-on", horizon=8)
        for kind in (Spending.exactly, Spending.at_most):
            regrets = feedback_regrets(mission.with_spending(kind(1)), 3)
            ones = [optimum(mission.with_spending(kind(budget))).feedback_regret for budget in (1, 2, 3)]
            assert regrets == pytest.approx(ones, abs=1e-12)


@pytest.mark.parametrize(("execution", "steps"), list(product(EXECUTIONS, (0, 1, 2))))
def test_no_fixed_times_are_better_than_the_best(execution, steps):
    for seed in range(3):
        mission = late_mission(seed, execution, steps, "go-on", horizon=7)
        mission, apart = mission.with_spending(Spending.exactly(2)), max(steps, 1)
        first = range(1, 7) if mission.robot.sees else (1,)
        pairs = [(a, b) for a in first for b in range(a + apart, 7) if b <= 7 - apart]
        tried = [evaluate_times(mission, pair).regret for pair in pairs]
        found = optimum(mission)
        assert found.fixed_proved
        assert found.fixed_regret <= min(tried) + 1e-12
        if not mission.robot.sees:
            assert found.fixed_regret == pytest.approx(min(tried), abs=1e-12)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_the_best_schedule_as_a_rule_has_the_value_of_the_programme(execution):
    from replan.evaluation.optimal_schedule import BestUpdates, Floor

    for seed, steps, spending in product(range(3), (0, 2, {1: 0.5, 3: 0.5}), SPENDINGS):
        mission = late_mission(seed, execution, steps, "wait", horizon=8).with_spending(spending)
        floor = Floor(mission, with_times=True)
        if mission.spending.exact and not mission.robot.sees:
            continue  # its times that are forced are not asked for
        result = evaluate(floor.mission, BestUpdates(floor.programme))
        assert result.objective == pytest.approx(float(floor.objectives[-1]), abs=1e-12)
        assert result.expected_updates == pytest.approx(floor.updates, abs=1e-12)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_updates_that_mostly_never_arrive_have_a_floor_too(execution):
    mission = late_mission(2, execution, {2: 0.2, 30: 0.8}, "go-on").with_spending(Spending.at_most(1))
    found = optimum(mission)
    best = LateMission(mission).value(anything_allowed(mission, 30))
    assert found.feedback_objective == pytest.approx(best, abs=1e-12)
    assert found.fixed_regret == pytest.approx(evaluate_times(mission, found.fixed_times).regret, abs=1e-12)


def test_an_optimum_without_its_fixed_times_has_the_same_floor():
    mission = late_mission(1, "belief", 1, "go-on")
    whole, floor = optimum(mission), optimum(mission, fixed=False)
    assert floor.feedback_regret == whole.feedback_regret and floor.fixed_times == ()


def test_a_mission_of_knowledge_has_no_floor_and_no_return():
    mission = late_mission(1, "map", 0, "go-on")
    told = replace(mission, world=mission.world.knowledge)
    for ask in (optimum, lambda each: evaluate(each, FixedTimes((1, 2)))):
        with pytest.raises(InputError, match="known world"):
            ask(told)


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_with_drawn_durations_no_change_of_one_fixed_time_is_better_and_the_objective_is_theirs(execution):
    for seed, spending in product(range(3), (Spending.at_price(0.1), Spending.at_most(2))):
        mission = late_mission(seed, execution, {0: 0.5, 2: 0.5}, "go-on").with_spending(spending)
        found = optimum(mission)
        assert found.fixed_objective == pytest.approx(evaluate_times(mission, found.fixed_times).objective)
        others = [found.fixed_times[:i] + found.fixed_times[i + 1 :] for i in range(len(found.fixed_times))]
        others += [tuple(sorted({*found.fixed_times, t})) for t in range(1, mission.horizon)]
        for times in others:
            if (spending.price is None and not 1 <= len(times) <= 2) or (
                spending.limit and times[:1] != (1,)
            ):
                continue
            assert evaluate_times(mission, times).objective <= found.fixed_objective + 1e-9
