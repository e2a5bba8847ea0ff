"""Each baseline against a schedule or score worked out by hand."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.errors import InputError
from replan.model.general_kernel import GeneralKernel
from replan.schedule.drift_threshold import DriftThreshold, SelfTriggered
from replan.schedule.fixed import BackLoaded, FrontLoaded, Random
from replan.schedule.lazy_value import LazyValue, lazy_score
from replan.schedule.measuring_value import MeasuringValue
from replan.schedule.periodic import BestOffset, even_times, offset_candidates, offset_times, periodic_times
from replan.schedule.questions import decision_at, named_update
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.score import pacing_limit
from replan.study.study_rules import AccumulatedValue


@pytest.mark.parametrize(("time", "left", "limit"), [(2, 3, 3), (2, 4, 3), (5, 2, 3), (6, 2, 3), (10, 1, 1)])
def test_pacing_limit_rounds_up(context, time, left, limit):
    assert pacing_limit(context(time=time, budget_left=left)) == limit


def test_pacing_forces_a_paced_rule_and_keeps_its_numbers(context):
    # T = 11, t = 5, b = 2: L = 3 steps, and t - tau = 3
    decision = RegretGuided("drift", alpha=0.5, m=2, diameter=0, threshold=9).decide(context())
    assert decision.update
    assert decision.reason == "3 steps since the last update: the pacing limit"
    assert decision.score == pytest.approx(np.log(1.1))
    assert not RegretGuided("drift", diameter=0, threshold=9).decide(context(last_update=3)).update


def test_pacing_can_be_replaced(context):
    patient = RegretGuided("drift", diameter=0, threshold=9, pacing="none")
    assert not patient.decide(context()).update
    hasty = RegretGuided("drift", diameter=0, threshold=9, pacing=lambda context: 1)
    assert hasty.decide(context(last_update=4)).update


def test_candidates_hold_the_score_without_a_residual_term_once():
    # 3 families x 7 alphas x 5 m x 9 diameters; `drift` with diameter 0 has 7 x 5 ways to say the same score
    candidates = RegretGuided.candidates()
    assert len(set(candidates)) == len(candidates) == 3 * 7 * 5 * 9 - (7 * 5 - 1)
    without = [rule for rule in candidates if (rule.score, rule.diameter) == ("drift", 0.0)]
    assert without == [RegretGuided("drift", alpha=0.3, m=1, diameter=0.0)]


def test_drift_threshold_score(context):
    # drift 0.1, pace 0.5 * (5 - 2) / 3
    decision = DriftThreshold(threshold=0.6, pace_weight=0.5).decide(context())
    assert decision.terms == pytest.approx({"drift": 0.1, "pace": 0.5})
    assert decision.update and decision.threshold == 0.6
    higher = DriftThreshold(threshold=0.601, pace_weight=0.5)
    assert "pacing limit" in higher.decide(context()).reason
    # one step later after an update: drift 0.04 + 0.03, pace 0.5 * 2 / 3
    below = higher.decide(context(last_update=3))
    assert not below.update
    assert " reaches 0.6: " in decision.reason and " is below " in below.reason


def test_drift_threshold_is_tuned_over_every_threshold_with_every_pace_weight():
    found = [(rule.threshold, rule.pace_weight) for rule in DriftThreshold.candidates()]
    assert len(set(found)) == len(found) == 72
    assert {(0.01, 0.0), (0.01, 1.0), (2.0, 0.0), (2.0, 1.0)} <= set(found)


@pytest.mark.parametrize("kind", [LazyValue, SelfTriggered, MeasuringValue, AccumulatedValue])
def test_rules_with_one_threshold_are_tuned_over_ascending_ones(kind):
    found = [rule.threshold for rule in kind.candidates()]
    assert found == sorted(set(found)) and len(found) > 9 and found[0] > 0


PROFILE = np.array([0.5, 0.01, 0.02, 0.03, 0.04, 0.05, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("threshold", "time"), [(0.0, 3), (0.03, 3), (0.031, 4), (0.1, 5), (0.15, 6), (0.2, 11)]
)
def test_self_triggered_names_the_first_time_whose_drift_reaches_the_threshold(context, threshold, time):
    # the sum from epsilon_1: .03 at t = 3, .06 at 4, .10 at 5, .15 at 6 and from then on
    at_update = context(time=2, drift_bounds=PROFILE)
    assert SelfTriggered(threshold).next_update(at_update, np.arange(2)).tolist() == [time, time]


def test_self_triggered_explains_the_time_in_numbers(context):
    def named(rule):
        time = named_update(rule, context(time=2, drift_bounds=PROFILE), 0, seed=None)
        at = context(time=time, drift_bounds=PROFILE)
        return time, decision_at(rule, at, time)

    time, decision = named(SelfTriggered(0.1))
    assert (time, decision.update) == (5, True)
    assert decision.terms == pytest.approx({"drift": 0.1})
    assert decision.reason == "planned at 2: score 0.1 reaches 0.1: forecast drift"
    time, decision = named(SelfTriggered(1.0))  # two left: 9 and 10
    assert time == 9
    assert decision.reason == "planned at 2: budget forces an update: 2 left, 2 steps to go"


def test_lazy_score_by_hand():
    stale = GeneralKernel.from_dense([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    current = GeneralKernel.from_dense([[[0.4, 0.6], [0.7, 0.3]], [[0.1, 0.9], [0.0, 1.0]]])
    # rows of P_t - P_{tau-1}: (-.1, .1), (-.3, .3), (.1, -.1), 0; times W_1 = (2, 7): .5, 1.5, -.5, 0
    assert lazy_score(current, stale, np.array([2.0, 7.0])) == pytest.approx(1.5)


def test_lazy_value_compares_the_score_and_needs_the_current_kernel(context):
    moved = GeneralKernel.from_dense([[[0.4, 0.6]], [[0.5, 0.5]]])
    at = context(current_kernel=moved)
    score = 0.1 * abs(at.plan.next_values[1] - at.plan.next_values[0])
    assert LazyValue(0.1).decide(at).score == pytest.approx(score)
    with pytest.raises(InputError, match="current kernel"):
        LazyValue().decide(context())


def test_even_spacing_of_a_blind_robot_by_hand():
    # T = 50, B = 4: steps of 49 / 4 = 12.25
    assert even_times(50, 4) == (1, 13, 25, 38)
    assert even_times(60, 2) == (1, 31)  # half of 59 is rounded to the even 30
    assert even_times(40, 1) == (1,) and even_times(5, 4) == (1, 2, 3, 4)


@given(st.integers(2, 60), st.data())
def test_even_spacing_spends_its_budget_at_distinct_times_before_the_end(horizon, data):
    budget = data.draw(st.integers(1, horizon - 1))
    for sees in (False, True):
        times = even_times(horizon, budget, sees=sees)
        assert len(set(times)) == budget and times[0] >= 1 and times[-1] < horizon
        gaps = np.diff((*times, horizon))
        assert gaps.max() - gaps.min() <= 1 + (1 if sees else 0)


def test_offset_candidates_are_filled_with_the_latest_unused_times():
    # T = 11, B = 4: q = 3. o = 3: {1, 4, 7, 10}; o = 2: {1, 3, 6, 9}; o = 1: {1, 2, 5, 8}
    assert offset_candidates(11, 4) == {0: (1, 4, 7, 10), 1: (1, 2, 5, 8), 2: (1, 3, 6, 9)}
    # a later first time leaves two: 1, 9 and the latest unused, 10 and 8
    assert offset_times(11, 4, 8, 3) == (1, 8, 9, 10)
    assert offset_times(11, 4, 9, 3) == (1, 8, 9, 10)
    assert offset_times(11, 4, 5, 3) == (1, 6, 9, 10)


def test_offset_candidates_are_truncated_to_the_first():
    # T = 12, B = 4: q = 3. o = 1: {1, 2, 5, 8, 11} has one too many
    assert offset_times(12, 4, 1) == (1, 2, 5, 8)
    assert offset_times(12, 4, 3) == (1, 4, 7, 10)
    assert periodic_times(12, 4) == (1, 4, 8, 11)


def test_two_updates_leave_every_time_to_try():
    assert {times[1] for times in offset_candidates(10, 2).values()} == set(range(2, 10))


def test_one_update_is_at_one():
    assert offset_candidates(10, 1) == {0: (1,)}
    assert BestOffset(3).times(10, 1) == (1,)


def test_best_offset_is_the_uniform_schedule_at_offset_zero_and_shifted_elsewhere():
    assert BestOffset().times(12, 4) == BestOffset(0, period=2).times(12, 4) == periodic_times(12, 4)
    assert BestOffset(1).times(12, 4) == offset_times(12, 4, 1) == (1, 2, 5, 8)
    assert BestOffset(2, period=4).times(12, 4) == (1, 3, 7, 11)


@given(st.integers(3, 60), st.data())
def test_every_offset_candidate_is_a_schedule(horizon, data):
    budget = data.draw(st.integers(1, horizon - 1))
    for times in offset_candidates(horizon, budget).values():
        assert times[0] == 1 and len(times) == len(set(times)) == budget
        assert list(times) == sorted(times) and times[-1] < horizon


def run(rule, context, horizon, budget, seed=None):
    """The times of a rule that looks at nothing but the clock."""
    times, left = [1], budget - 1
    while left:

        def at(time, last=times[-1], left=left):
            return context(time=time, horizon=horizon, budget=budget, budget_left=left, last_update=last)

        named = named_update(rule, at(times[-1]), 0, seed=seed)
        later = range(times[-1] + 1, horizon)
        times.append(next(t for t in later if decision_at(rule, at(t), named).update))
        left -= 1
    return tuple(times)


def test_loaded_schedules(context):
    assert run(FrontLoaded(), context, 10, 4) == (1, 2, 3, 4)
    assert run(BackLoaded(), context, 10, 4) == (1, 7, 8, 9)
    assert run(BackLoaded(), context, 10, 1) == (1,)
    assert run(FrontLoaded(), context, 5, 4) == run(BackLoaded(), context, 5, 4) == (1, 2, 3, 4)


def test_back_loaded_waits_for_its_last_times_without_being_forced(context):
    asked = [BackLoaded().decide(context(time=t, horizon=10, budget=4, budget_left=3)) for t in (6, 7)]
    assert [decision.update for decision in asked] == [False, True]
    assert asked[0].reason == "6 is not among the last 3 times"


@pytest.mark.parametrize(("horizon", "budget"), [(6, 1), (6, 2), (6, 3), (7, 4), (7, 6)])
def test_random_law_is_that_of_the_least_of_all_subsets(context, horizon, budget):
    for last in range(1, horizon - 1):
        left = budget - 1
        if not 1 <= left <= horizon - 1 - last:
            continue
        subsets = list(combinations(range(last + 1, horizon), left))
        counted = np.bincount([subset[0] for subset in subsets], minlength=horizon + 1) / len(subsets)
        at = context(time=last, last_update=last, horizon=horizon, budget=budget, budget_left=left)
        assert Random().next_update(at, np.arange(2)) == pytest.approx(np.stack([counted] * 2))


def test_seeded_schedules_are_uniform_over_all_subsets(context):
    horizon, budget, seeds = 7, 3, 6000
    drawn = [run(Random(), context, horizon, budget, seed) for seed in range(seeds)]
    counts = np.array([drawn.count((1, *later)) for later in combinations(range(2, horizon), budget - 1)])
    assert counts.sum() == seeds
    expected = seeds / len(counts)
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    assert chi_squared < 27.9  # the 99.9 % point for 9 degrees of freedom


def test_a_seed_draws_one_schedule_and_without_one_nothing_is_drawn(context):
    assert run(Random(), context, 20, 5, seed=3) == run(Random(), context, 20, 5, seed=3)
    assert len({run(Random(), context, 20, 5, seed) for seed in range(9)}) > 5
    with pytest.raises(InputError, match="seed"):
        run(Random(), context, 20, 5)
