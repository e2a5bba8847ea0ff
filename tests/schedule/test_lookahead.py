"""Look-ahead chooses by value, in the forecast of the mission."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import Robot, Spending
from replan.errors import InputError
from replan.evaluation.exact import evaluate, regret
from replan.evaluation.optimal_schedule import optimum
from replan.evaluation.rule_checks import check_rule
from replan.execute.mission import Mission, Progress
from replan.forecast.base import Frozen, Future
from replan.forecast.given import Given
from replan.forecast.mixture import Mixture
from replan.forecast.trend import Trend
from replan.model import drift
from replan.model.kernel import constant
from replan.model.slip import SlipKernel
from replan.model.world import World
from replan.planning.ties import Ties
from replan.schedule.fixed import FixedTimes
from replan.schedule.lookahead import Lookahead, ways_in
from replan.skip.best import Best
from replan.worlds.slip_grid import rover
from tiny_worlds import tiny_missions

EXACT = {"tolerance": 0.0, "effort": 1e30}


def at_update(mission, rule, *, time=1, state=0, left=None):
    left = mission.spending.limit - 1 if left is None else left
    return mission.context(rule, mission.progress(time, left), state)


def forgetful(context, **changes):
    """The same context with nothing kept from earlier decisions."""
    return replace(context, update=replace(context.update, cache={}), **changes)


def small_grid(execution="map", *, n=5, horizon=24, budget=4, **options):
    slip = drift.piecewise(horizon, slip=0.05, quiet=0.002, bursts=[(0.3, 0.6, 0.03)])
    robot = Robot(planning_horizon=5, execution=execution, **options)
    return Mission(rover(n, slip), robot, Spending.exactly(budget))


@given(tiny_missions(max_horizon=7))
def test_with_the_future_given_it_is_the_optimum(mission):
    mission = replace(mission, robot=replace(mission.robot, forecast=Given(mission.world.kernel)))
    assert regret(mission, Lookahead(**EXACT)) == pytest.approx(optimum(mission).feedback_regret, abs=1e-9)


@given(tiny_missions(max_horizon=7), st.integers(0, 3), st.booleans())
def test_with_a_future_given_that_comes_to_rest_it_is_the_optimum(mission, rest, one_reward):
    """The robot has a plan for every step there too, not one that is kept."""
    moving = mission.world
    reward = constant(moving.reward(0)) if one_reward else moving.reward
    world = replace(moving, kernel=lambda t: moving.kernel(min(t, rest)), reward=reward)
    mission = replace(mission, world=world, robot=replace(mission.robot, forecast=Given(world.kernel)))
    assert regret(mission, Lookahead(**EXACT)) == pytest.approx(optimum(mission).feedback_regret, abs=1e-9)


@given(tiny_missions(max_horizon=7), st.booleans())
def test_in_a_world_that_stands_still_a_frozen_forecast_is_the_optimum(mission, one_reward):
    still, reward = mission.world.kernel(0), mission.world.reward
    reward = constant(reward(0)) if one_reward else reward
    mission = replace(mission, world=replace(mission.world, kernel=constant(still), reward=reward))
    assert regret(mission, Lookahead(**EXACT)) == pytest.approx(optimum(mission).feedback_regret, abs=1e-9)


@given(tiny_missions(max_horizon=7), st.floats(0, 1))
def test_in_each_of_several_futures_a_robot_that_looks_plans_on_what_it_sees(mission, weight):
    """With one future its worth is the floor of the paper's robot in it, with two it lies between."""
    mission = mission.with_spending(Spending.at_price(0.1, limit=mission.limit))  # no update is forced
    rule, world = Lookahead(**EXACT), mission.world
    moves = Future("moves", weight, world.kernel)
    stays = Future("stays", 1 - weight, constant(world.kernel(0)))
    context = mission.context(rule, mission.beginning(), world.start)

    def worth(*futures):
        expecting = replace(context.update, cache={}, expect=lambda now: futures)
        return rule.decide(replace(context, update=expecting)).score

    ends = []
    for future in (moves, stays):
        floor = optimum(replace(mission, world=replace(world, kernel=future.kernel, stated_bounds=None)))
        ends.append(worth(replace(future, weight=1.0)))
        assert ends[-1] == pytest.approx(floor.feedback_objective, abs=1e-9)
    assert worth(moves, stays) <= weight * ends[0] + (1 - weight) * ends[1] + 1e-9


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("ties", ["first", "last", "random"])
def test_plans_that_share_their_walks_give_the_same_answers_as_separate_ones(execution, ties):
    mission, everyone = small_grid(execution, ties=Ties(ties)), np.arange(25)
    rule, reward = Lookahead(tolerance=1e-12, effort=1e30), mission.world.reward(0)
    context = at_update(mission, rule)
    separate = forgetful(context, reward=lambda t: replace(reward))
    assert rule.decide(context).score == pytest.approx(rule.decide(separate).score, abs=1e-9)
    assert rule.next_update(context, everyone).tolist() == rule.next_update(separate, everyone).tolist()


def test_dropping_masses_on_a_grid_changes_values_little():
    mission = small_grid(n=7, horizon=30)
    exact, pruned = Lookahead(**EXACT), Lookahead(tolerance=1e-6)
    context = at_update(mission, exact)
    truth, found = exact.decide(context).score, pruned.decide(context).score
    assert truth != found == pytest.approx(truth, abs=1e-4)


def test_times_between_the_coarse_ones_may_be_chosen_too_and_are_worth_about_as_much():
    mission, rule, left = small_grid(n=4, horizon=20), Lookahead(**EXACT), 2
    context = at_update(mission, rule)
    (future,) = context.futures()

    def candidates(stride):
        ways = ways_in(context, future, known=False, tolerance=0.0)
        best = Best([(1.0, ways)], told=True, limit=left, exact=True, stride=stride)
        return best.solve(1, [context.update], np.array([0])).candidates()[0, 0, :, left - 1]

    worth, exact = candidates(4), candidates(1)
    assert len(worth) == 20 + 1
    assert np.flatnonzero(np.isfinite(worth)).tolist() == list(range(2, 15))  # 18 is left for the other one
    assert worth[2:15] == pytest.approx(
        exact[2:15], abs=0.03
    )  # most states are known at one coarse time alone


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_thinned_out_candidates_cost_little(execution):
    mission = small_grid(execution, horizon=40)
    thinned = Lookahead(effort=1e5)
    best = optimum(mission).feedback_regret
    assert regret(mission, thinned) - regret(mission, Lookahead(**EXACT)) <= 0.02 * best


def test_one_state_and_all_states_get_the_same_answer():
    mission = small_grid()
    rule = Lookahead(**EXACT)
    states = np.array([0, 7, 12, 24])
    for left in (1, 2, 3):
        together = rule.next_update(at_update(mission, rule, time=3, left=left), states)
        at = at_update(mission, rule, time=3, left=left)
        alone = [int(rule.next_update(at, states[[row]])[0]) for row in range(len(states))]
        assert together.tolist() == alone


def test_where_the_forecast_may_be_surprised_no_time_is_named_in_advance():
    rule = Lookahead()
    assert rule.next_update(at_update(small_grid(forecast=Mixture()), rule), np.array([0])) is None
    assert rule.next_update(at_update(small_grid(), rule), np.array([0])) is not None


FORECASTS = [Frozen(), Trend()]


@given(tiny_missions(max_horizon=8), st.sampled_from(FORECASTS))
def test_exactly_the_budget_is_spent(mission, forecast):
    mission = replace(mission, robot=replace(mission.robot, forecast=forecast))
    assert evaluate(mission, Lookahead()).expected_updates == pytest.approx(mission.spending.limit)


@pytest.mark.parametrize("forecast", FORECASTS)
@pytest.mark.parametrize("execution", ["map", "belief"])
def test_it_is_a_sound_rule(forecast, execution):
    assert check_rule(Lookahead(), small_grid(execution, horizon=12, forecast=forecast)) == []


def test_it_decides_at_the_time_that_it_named():
    mission = small_grid()
    rule = Lookahead()
    chosen = int(rule.next_update(at_update(mission, rule), np.array([0]))[0])
    progress = mission.progress(1, 3)
    contexts = [mission.context(rule, progress, 0, t) for t in range(2, chosen + 1)]
    assert [rule.decide(context).update for context in contexts] == [False] * (chosen - 2) + [True]
    last = rule.decide(contexts[-1])
    assert str(chosen) in last.reason
    assert last.terms["expected return"] == last.score


def test_drift_that_falls_is_told_from_drift_that_rises():
    """Slip of 0.2 that came from 0.4 will be gone soon, slip that came from 0 will not."""
    still = Mission(
        rover(5, np.full(24, 0.2)), Robot(planning_horizon=5, forecast=Trend()), Spending.exactly(4)
    )
    mission = replace(still, world=replace(still.world, stated_bounds=np.full(23, 0.04)))
    rule = Lookahead()

    def chosen(slip):
        update = mission.make_update(6, SlipKernel((5, 5), 0.2), (1, SlipKernel((5, 5), slip)))
        context = mission.context(rule, Progress(update, 3, 6), 0)
        return context.futures()[0].kernel(16).slip[0], rule.next_update(context, np.array([0]))[0]

    (falling, early), (rising, late) = chosen(0.4), chosen(0.0)
    assert (falling, rising) == (pytest.approx(0.0), pytest.approx(0.4))
    assert early != late


@pytest.mark.parametrize(
    "wrong",
    [
        {"tolerance": 0.5},
        {"tolerance": -1.0},
        {"effort": 0.0},
    ],
)
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Lookahead(**wrong)


@pytest.mark.parametrize("forecast", [Frozen(), Mixture()])
def test_an_update_that_failed_is_not_answered_by_what_was_kept_before_it(forecast):
    """The cache lives with the plan, which outlives updates that fail."""
    mission = small_grid(forecast=forecast)
    rule, progress, states = Lookahead(**EXACT), mission.progress(1, 3), np.array([0, 7])
    for time in (1, 4, 9):
        progress = progress if time == 1 else progress.keeping(time)
        context = mission.context(rule, progress, 7, time + 6)
        fresh = forgetful(context)
        assert rule.updates(context, states).tolist() == rule.updates(fresh, states).tolist()
        assert rule.decide(context).score == pytest.approx(rule.decide(fresh).score, abs=1e-12)


def test_missions_that_share_their_updates_share_no_answer_for_another_budget():
    small, rule, states = small_grid(budget=2), Lookahead(**EXACT), np.array([0, 7])
    for mission in (small, small.with_spending(Spending.exactly(4)), small):
        context = at_update(mission, rule)
        fresh = rule.next_update(forgetful(context), states)
        assert rule.next_update(context, states).tolist() == fresh.tolist()


def test_the_step_after_the_last_update_is_a_candidate_in_several_futures_too():
    mission, rule = small_grid(horizon=6, forecast=Mixture()), Lookahead(**EXACT)
    decision = rule.decide(at_update(mission, rule, time=3, left=2))  # both of the last two steps
    assert decision.reason.startswith("expected loss") and " at 4" in decision.reason
    assert -10 < decision.score < 0


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("options", [{}, {"forecast": Mixture()}, {"update_steps": 2}])
def test_the_reason_says_what_the_chosen_time_and_others_are_expected_to_lose(execution, options):
    mission, rule = small_grid(execution, **options), Lookahead(**EXACT)
    decision = rule.decide(at_update(mission, rule))
    loss, chosen, *others = re.findall(r"\d+\.?\d*", decision.reason)
    assert decision.reason.startswith(f"expected loss {loss} at {chosen}, against {others[0]} at {others[1]}")
    assert 0 <= float(loss) <= min(map(float, others[::2]))
    assert decision.terms["expected loss"] == pytest.approx(float(loss), abs=5e-4)


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_with_the_future_given_the_expected_losses_are_the_regrets_of_the_schedules(execution):
    """After an update at 1, the world is one that begins there."""
    whole = small_grid(execution, budget=2)
    world, rule = whole.world, Lookahead(**EXACT)
    given = replace(whole, robot=replace(whole.robot, forecast=Given(world.kernel)))
    said = rule.decide(at_update(given, rule)).reason
    told = [(int(time), float(loss)) for loss, time in re.findall(r"(\S+) at (\d+)", said)]
    later = World(world.horizon - 1, lambda t: world.kernel(t + 1), world.reward, start=0, grid=world.grid)
    robot = replace(whole.robot, forecast=Given(later.kernel))
    mission = Mission(later, robot, Spending.at_price(0.0))
    assert len(told) == 3 and told[0][1] == min(loss for _, loss in told)
    for time, loss in told:
        assert loss == pytest.approx(regret(mission, FixedTimes((time - 1,))), abs=6e-4)


@pytest.mark.parametrize("budget", [2, 4, None])
@pytest.mark.parametrize("time", [1, 50, 190])
def test_later_updates_are_weighed_at_as_many_times_as_the_effort_allows_and_at_four_each_at_least(
    budget, time
):
    """S^2 (T - tau)^2 B / 2, divided by the square of the stride, stays within the effort."""
    spending = Spending.at_price(0.1) if budget is None else Spending.exactly(budget)
    mission = small_grid(horizon=200).with_spending(spending)
    columns, updates = (1, 4) if budget is None else (budget, budget)
    work = 25**2 * (200 - time) ** 2 * columns / 2
    coarsest = max(1, (200 - time) // (4 * updates))
    for times in (1e300, 50, 9.1, 8.9, 4.1, 3.9, 1.1, 0.9):
        effort = work / times
        rule = Lookahead(effort=effort)
        progress = mission.after(mission.beginning(), time)
        found = rule.stride(mission.context(rule, progress, 0))
        needed = next((stride for stride in range(1, 99) if work <= effort * stride**2), 99)
        assert found == min(needed, coarsest)
