"""What an update puts in force, what a rule is told of it, and the books of what is spent."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execute.loop import fly, with_robot
from tests.tiny_worlds import random_world, tiny_missions

from replan import Agent, InputError, Mission, Periodic, Reward, Robot, Spending, Ties, constant
from replan.execute.robot import plan_by_induction
from replan.forecast.base import Forecast, Future
from replan.model.family import Family
from replan.schedule.rule import Decision, Need, Rule

HORIZON, STATES = 9, 4
FOUR = Spending.exactly(4)


@dataclass(frozen=True, eq=False)
class Noting(Forecast):
    """The estimate stays, from the update on; what is told is noted."""

    compares: bool = True
    reconsiders: bool = True
    told: list = field(default_factory=list)

    def futures(self, evidence):
        self.told.append(evidence)

        def kernel(time):
            assert evidence.time <= time < HORIZON
            return evidence.kernel

        return (Future("stays", 1.0, kernel),)

    def surprise(self, drift_bounds, update, horizon):
        assert horizon == HORIZON
        return update + len(drift_bounds)


class Curious(Rule):
    """Asks for everything that a blind robot has."""

    needs = frozenset(Need) - {Need.RUNNING_ESTIMATE}

    def decide(self, context):
        return Decision(False, "never")


def a_mission(spending: Spending = FOUR, **robot) -> Mission:
    world = random_world(np.random.default_rng(3), states=STATES, actions=3, horizon=HORIZON)
    family = Family.of_mixtures("two kernels", world.kernel(0), world.kernel(1))
    everywhere = np.tile(np.arange(STATES), (STATES, 1))
    world = replace(world, declared_successors=everywhere, family=family)
    return Mission(world, Robot(**{"planning_horizon": 3, "ties": Ties("last")} | robot), spending)


def test_a_robot_knows_what_the_world_tells_it():
    mission = a_mission()
    known, world = mission.knowledge, mission.world
    assert known is world.knowledge and known.horizon == HORIZON
    assert known.nominal is world.kernel(0) is not world.kernel(1)
    assert known.declared_successors is world.declared_successors
    assert known.family is world.family
    assert known.current_kernel is world.kernel and known.reward is world.reward
    np.testing.assert_array_equal(known.drift.bounds, world.drift_bounds)


def test_an_update_on_a_forecast_has_its_parts():
    mission = a_mission(forecast=(forecast := Noting()))
    made = mission.update(5, mission.update(3))
    assert made.time == made.plan.time == 5
    assert made.kernel is mission.world.kernel(4)
    assert [each.time for each in made.plan.later] == [6, 7, 8]
    assert {each.ties for each in (made.plan, *made.plan.later)} == {Ties("last")}
    assert made.earlier == (3, mission.world.kernel(2))
    assert [future.name for future in made.futures] == ["stays"]
    del forecast.told[:-1]  # that of the update before
    (evidence,) = forecast.told
    assert (evidence.time, evidence.horizon, evidence.earlier) == (5, HORIZON, made.earlier)
    assert evidence.kernel is made.kernel and evidence.nominal is mission.world.kernel(0)
    np.testing.assert_array_equal(evidence.drift_bounds, mission.world.drift_bounds[:5])
    made.expect(7)
    np.testing.assert_array_equal(forecast.told[1].drift_bounds, mission.world.drift_bounds[:7])


def test_updates_are_told_apart_by_the_one_before_where_the_forecast_compares():
    compared = a_mission(forecast=Noting())
    assert compared.update(5).earlier is None
    third = compared.update(3)
    assert compared.update(5) is compared.update(5, compared.update(0)) is not compared.update(5, third)
    progress = compared.progress(5, 2, 3)
    assert progress.update is compared.update(5, third)
    assert progress.earlier.time == 3
    for forecast in ({}, {"forecast": Noting(compares=False)}):
        other = a_mission(**forecast)
        assert other.update(5) is other.update(5, third)
        assert other.update(5, third).earlier is None


@pytest.mark.parametrize("forecast", [{}, {"forecast": Noting()}])
def test_values_of_actions_must_be_finite_for_beliefs_alone(forecast):
    mission = a_mission(planning_horizon=1, **forecast)
    endless = constant(Reward(next_state=np.array([np.inf, 0.0, 0.0, 0.0])))
    with np.errstate(invalid="ignore"):
        for execution in ("map", "belief"):
            mission = replace(
                mission,
                world=replace(mission.world, reward=endless),
                robot=replace(mission.robot, execution=execution),
            )
            if execution == "map":
                assert mission.update(5).plan.time == 5
            else:
                with pytest.raises(InputError, match="q_values"):
                    mission.update(5)


def test_a_planner_gets_the_kernel_the_time_the_steps_left_and_the_ties():
    told = []

    def planner(*given):
        told.append(given)
        return plan_by_induction(*given)

    mission = a_mission(planner=planner)
    made = mission.make_update(7, mission.world.kernel(6))
    assert told == [(mission.world.kernel(6), mission.world.reward, 7, 2, Ties("last"))]
    assert made.plan.ties == Ties("last")


def test_a_plan_reaches_as_far_as_the_planning_horizon_and_no_further_than_the_mission(mission):
    made = []

    def planner(kernel, reward, time, horizon, ties):
        made.append((time, horizon))
        return plan_by_induction(kernel, reward, time, horizon, ties)

    fly(Agent.on(with_robot(mission, planner=planner), Periodic(), trial=False), mission)
    assert made == [(0, 7), (1, 7), (17, 7), (33, 7), (49, 1)]
    del made[:]
    fly(Agent.on(with_robot(mission, planner=planner, planning_horizon=60), Periodic(), trial=False), mission)
    assert made == [(0, 50), (1, 49), (17, 33), (33, 17), (49, 1)]


def test_a_context_says_what_is_in_force_and_what_the_rule_asks_for():
    mission = a_mission(Spending.at_price(0.3, limit=4), forecast=Noting(), execution="belief")
    progress = mission.after(mission.after(mission.beginning(), 3), 5)
    told = mission.context(Curious(), progress, 2, 7)
    world, update = mission.world, progress.update
    assert (told.time, told.horizon, told.planning_horizon, told.last_update) == (7, HORIZON, 3, 5)
    assert (told.spending, told.budget, told.budget_left) == (mission.spending, 4, 2)
    assert told.kernel is world.kernel(4) and told.plan is update.plan
    assert told.propagation is update.propagation and told.cache is update.cache
    assert told.surprise == 5 + 7 and told.forecast.reconsiders
    assert told.reward is world.reward and told.execution == "belief"
    assert told.declared_successors is world.declared_successors and told.family is world.family
    assert told.price == 0.3
    assert told.given[Need.STATE] == 2 and told.given[Need.BUDGET] == 4
    assert told.given[Need.EARLIER_ESTIMATE] == (3, world.kernel(2))
    assert told.given[Need.CURRENT_KERNEL] is world.kernel(7)
    np.testing.assert_array_equal(told.given[Need.DRIFT_SO_FAR].bounds, world.drift_bounds[:7])
    np.testing.assert_array_equal(told.given[Need.DRIFT_AHEAD].bounds, world.drift_bounds)


def test_without_a_forecast_that_reconsiders_nothing_surprises():
    mission = a_mission()
    told = mission.context(Curious(), mission.after(mission.beginning(), 5), 2, 7)
    assert told.surprise == 5 and not told.forecast.reconsiders and told.price is None


def test_a_rule_cannot_ask_for_what_is_expected_with_drift_bounds_that_are_not_known_yet():
    mission = a_mission(forecast=(forecast := Noting()))
    context = mission.context(Curious(), mission.progress(3, 2), 0, 5)
    context.futures()
    assert [len(told.drift_bounds) for told in forecast.told if told.time == 3][-1:] == [5]
    assert max(len(told.drift_bounds) for told in forecast.told) == 5


def test_where_the_plan_is_kept_the_estimate_is_as_old_as_the_plan():
    mission = a_mission()
    kept = mission.progress(3, 2).keeping(5)
    context = mission.context(Curious(), kept, 0, 6)
    assert (context.last_update, context.plan.time, context.estimate_time) == (5, 3, 2)
    assert context.kernel is mission.world.kernel(2)


class Needy(Curious):
    """Needs one thing by its word."""

    def __init__(self, need: str) -> None:
        self.needs = frozenset({need})


def test_a_need_may_be_given_by_its_word_and_an_unknown_one_is_refused():
    mission = a_mission()
    assert mission.context(Needy("state"), mission.progress(3, 2), 1, 5).state == 1
    with pytest.raises(InputError, match="needs 'stat', not one of state, drift so far"):
        mission.require(Needy("stat"))


def test_a_rule_is_given_only_what_the_mission_has():
    mission = a_mission()
    blind = Mission(replace(mission.world.knowledge, current_kernel=None), mission.robot, FOUR)
    unlimited = Mission(mission.world.knowledge, mission.robot, Spending.at_price(0.1))
    mission.require(Curious())
    for lacking, named in ((blind, "the rule curious needs current_kernel"), (unlimited, "needs a budget")):
        with pytest.raises(InputError, match=named):
            lacking.require(Curious())
        lacking.require(Needy("drift ahead"))
    with pytest.raises(InputError, match="budget must lie between 1 and 8"):
        Mission(mission.world.knowledge, mission.robot, Spending.exactly(9))


@pytest.mark.parametrize(
    ("spending", "most"),
    [(FOUR, 4), (Spending.at_most(3), 3), (Spending.at_price(0.1, limit=2), 2), (Spending.at_price(0.1), 8)],
)
def test_the_books_begin_with_all_that_can_be_spent_and_the_free_plan(spending, most):
    progress = a_mission(spending).beginning()
    assert (progress.budget_left, progress.last_update, progress.update.time) == (most, 0, 0)
    assert progress.earlier is None


@given(tiny_missions(max_horizon=8), st.data())
def test_progress_counts_down_and_remembers_the_update_before(mission, data):
    progress, times, made = mission.progress(0, mission.spending.limit), [0], [0]
    for _ in range(mission.spending.limit):
        later = st.integers(times[-1] + 1, mission.horizon)
        if (time := data.draw(later)) == mission.horizon:
            break
        if data.draw(st.booleans(), label="fails"):
            progress = progress.keeping(time)
        else:
            progress = progress.after(mission.update(time))
            made.append(time)
        times.append(time)
        assert progress.budget_left == mission.spending.limit - len(times) + 1
        assert (progress.last_update, progress.update.time) == (time, made[-1])
        assert (progress.earlier.time if progress.earlier else 0) == (made[-2] if len(made) > 1 else 0)


def test_an_update_that_fails_changes_neither_the_plan_nor_the_update_before(mission):
    first = mission.progress(0, 4).after(mission.update(1))
    assert first.earlier is None, "the free plan of t = 0 is no update"
    second = first.after(mission.update(5))
    kept = second.keeping(9)
    third = kept.after(mission.update(12))
    for progress, last, plan, earlier, left in (
        (second, 5, 5, 1, 2),
        (kept, 9, 5, 1, 1),
        (third, 12, 12, 5, 0),
    ):
        assert (progress.last_update, progress.update.time) == (last, plan)
        assert (progress.earlier.time, progress.budget_left) == (earlier, left)


class Compares(Periodic):
    needs = frozenset({Need.EARLIER_ESTIMATE})


@pytest.mark.parametrize(("rule", "earlier"), [(Periodic(), 0), (Compares(), 4)])
def test_progress_is_told_apart_by_the_update_before_only_for_rules_that_compare(
    mission, rule: Rule, earlier
):
    assert mission.progress(9, 2, 4).key(rule)[:4] == (9, 2, earlier, 9)
    assert mission.progress(9, 2).key(rule)[:4] == (9, 2, 0, 9)
    assert mission.progress(9, 3).keeping(12).key(rule)[:4] == (12, 2, 0, 9), "a plan that was kept"
    assert mission.progress(9, 2).earlier is None and mission.progress(9, 2, 4).earlier.time == 4
