"""The terms of Algorithm 1's score against values worked out by hand."""

from math import log

import numpy as np
import pytest

from replan.errors import InputError
from replan.model.general_kernel import GeneralKernel
from replan.model.reward import Reward
from replan.model.world import DriftBounds
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.rule import Need
from replan.schedule.score import (
    PHI,
    compared,
    geometric_sum,
    named,
    pacing_limit,
    proxy_terms,
    stale_drift,
    theorem_terms,
    total_variation_factor,
)


def test_stale_drift_runs_from_the_step_before_the_update_to_the_step_before_now(context):
    assert stale_drift(context()) == pytest.approx(0.01 + 0.02 + 0.03 + 0.04)


def test_proxies_of_the_appendix(context):
    # T - t = 6 and m = 2 give K = 3: R = 0.5^3 * 4, I = 0.1, A = 2 * (1 + 0.5 + 0.25) * 0.1
    assert proxy_terms(context(), alpha=0.5, m=2, diameter=4.0) == pytest.approx((0.5, 0.1, 0.35))


def test_proxies_round_the_number_of_blocks_down(context):
    # m = 4: K = floor(6 / 4) = 1
    assert proxy_terms(context(), alpha=0.5, m=4, diameter=4.0) == pytest.approx((2.0, 0.1, 0.4))


def test_geometric_sum_at_alpha_one_counts_the_blocks():
    assert geometric_sum(1.0, 7) == 7
    assert geometric_sum(1 - 1e-9, 7) == pytest.approx(7)


@pytest.mark.parametrize(
    ("family", "expected", "threshold"),
    [
        ("gap", log(1.5) + log(1.35), 0.15),
        ("drift", log(1.5) + log(1.1), 0.25),
        ("gap+drift", log(1.5) + log(1.1) + log(1.35), 0.30),
    ],
)
def test_score_families_of_the_appendix(context, family, expected, threshold):
    decision = RegretGuided(family, alpha=0.5, m=2, diameter=4.0).decide(context())
    assert decision.score == pytest.approx(expected)
    assert decision.threshold == threshold
    assert decision.update
    assert sum(decision.terms.values()) == pytest.approx(decision.score)


def test_the_residual_term_vanishes_with_the_diameter(context):
    decision = RegretGuided("drift", alpha=0.9, m=1, diameter=0, pacing="none").decide(context())
    assert decision.terms["residual"] == 0
    assert decision.score == pytest.approx(log(1.1))
    assert not decision.update


def test_weights_phi_and_threshold_can_be_replaced(context):
    rule = RegretGuided("gap", alpha=0.5, m=2, diameter=4, weights=(0.5, 2, 3), phi="linear", threshold=1.5)
    decision = rule.decide(context())
    assert decision.terms == pytest.approx({"residual": 0.25, "immediate": 0.2, "accumulated": 1.05})
    assert decision.update and decision.threshold == 1.5
    squared = RegretGuided("drift", alpha=0.5, m=2, diameter=4, phi=lambda x: x**2)
    assert squared.decide(context()).score == pytest.approx(0.25 + 0.01)


def test_a_score_below_a_threshold_of_its_own_does_not_update(context):
    rule = RegretGuided("drift", alpha=0.5, m=2, diameter=4, threshold=0.51, pacing="none")
    assert not rule.decide(context()).update  # log(1.5) + log(1.1) = 0.5008, above the family's 0.25


def test_what_phi_makes_of_a_term_without_weight_does_not_matter(context):
    rule = RegretGuided(diameter=0, weights=(0, 1, 0), phi=log)  # log(0) of the residual term is an error
    assert rule.decide(context()).terms == pytest.approx(
        {"residual": 0, "immediate": log(0.1), "accumulated": 0}
    )


@pytest.mark.parametrize(
    ("score", "pacing", "needs"),
    [
        ("drift", "even", {Need.DRIFT_SO_FAR, Need.BUDGET}),
        ("gap", "none", {Need.DRIFT_SO_FAR}),
        ("gap+drift", pacing_limit, {Need.DRIFT_SO_FAR, Need.BUDGET}),
        ("theorem", "even", {Need.DRIFT_AHEAD, Need.BUDGET}),
        ("theorem", "none", {Need.DRIFT_AHEAD}),
    ],
)
def test_only_the_theorem_needs_the_drift_ahead_and_only_pacing_a_budget(score, pacing, needs):
    assert RegretGuided(score, pacing=pacing).needs == needs


def test_drift_so_far_tells_nothing_of_later_bounds():
    drift = DriftBounds.of(np.array([0.1, 0.2, 0.3, 0.4]))
    assert drift.until(2).bounds == pytest.approx([0.1, 0.2])
    assert drift.until(2).sums == pytest.approx([0, 0.1, 0.3])


def test_the_theorem_score_is_made_of_the_terms_of_the_theorem(context):
    at = context(time=4, horizon=7, drift_bounds=np.array([0.01, 0.02, 0.03, 0.04, 0.05, 0.06]))
    decision = RegretGuided("theorem", alpha=0.5, m=1, diameter=3.0).decide(at)
    raw = theorem_terms(at, alpha=0.5, m=1, diameter=3.0)
    assert list(decision.terms.values()) == pytest.approx([log(1 + x) for x in raw])
    assert decision.threshold == 0.30


def test_the_reason_gives_the_numbers(context):
    reason = RegretGuided("gap", alpha=0.5, m=2, diameter=4.0).decide(context()).reason
    assert reason == "score 0.7056 reaches 0.15: residual 0.4055 + accumulated 0.3001"


def test_theorem_terms_by_hand(context):
    # T = 7, tau = 2, t = 4, m = 1: N = 2, K = 2; range of the reward 1, D = 3; two successors: factor 1.
    # e_j = 3 (epsilon_{2+j} + epsilon_{3+j}): e_0 = 3 (.03 + .04), e_1 = 3 (.04 + .05), e_2 = 3 (.05 + .06)
    bounds = np.array([0.01, 0.02, 0.03, 0.04, 0.05, 0.06])
    at = context(time=4, horizon=7, drift_bounds=bounds)
    expected = (0.25 * 3, 0.21, 2 * (1 * 0.27 + 0.5 * 0.33))
    assert theorem_terms(at, alpha=0.5, m=1, diameter=3.0) == pytest.approx(expected)


def test_theorem_terms_give_the_last_incomplete_block_the_last_power(context):
    # T = 8, tau = 2, t = 4, m = 2: N = 3, K = 1: e_1 and e_2 with power 0, e_3 with power 1
    at = context(time=4, horizon=8, drift_bounds=np.full(7, 0.1))
    expected = (0.5 * 1, 0.2, 2 * (0.2 + 0.2 + 0.5 * 0.2))
    assert theorem_terms(at, alpha=0.5, m=2, diameter=1.0) == pytest.approx(expected)


def test_theorem_terms_hold_total_variation_below_one(context):
    at = context(time=4, horizon=7, drift_bounds=np.full(6, 0.9))
    assert theorem_terms(at, alpha=0.5, m=1, diameter=3.0).immediate == pytest.approx(3.0)


def test_theorem_terms_add_the_drift_of_the_reward(context):
    # r_t = (0, t): between tau + j and t + j it moves by t - tau = 2; its range from tau = 2 on is 6.
    at = context(
        time=4,
        horizon=7,
        drift_bounds=np.zeros(6),
        reward=lambda t: Reward(next_state=np.array([0.0, t])),
    )
    assert theorem_terms(at, alpha=0.5, m=1, diameter=1.0) == pytest.approx((0.25 * 6, 2, 2 * (2 + 0.5 * 2)))


def test_theorem_terms_add_the_drift_of_the_reward_at_each_step(context):
    # r_t = (0, t^2): from tau + j = 2 + j to t + j = 4 + j it moves by 12 + 4 j; its range is 7^2, N = 3.
    # What was paid before tau does not count.
    def reward(t):
        return Reward(next_state=np.array([0.0, t * t if t >= 2 else 1000.0]))

    at = context(time=4, horizon=8, drift_bounds=np.zeros(7), reward=reward)
    expected = (0.125 * 49, 12, 2 * (16 + 0.5 * 20 + 0.25 * 24))
    assert theorem_terms(at, alpha=0.5, m=1, diameter=1.0) == pytest.approx(expected)


def test_a_reward_that_changes_once_drifts_too(context):
    rewards = [Reward(next_state=np.array([0.0, high])) for high in (1.0, 4.0)]
    at = context(time=4, horizon=7, drift_bounds=np.zeros(6), reward=lambda t: rewards[t >= 4])
    # t + j >= 4 always, tau + j = 2 + j from j = 2 on: e = 3, 3, 0
    assert theorem_terms(at, alpha=0.5, m=1, diameter=0.0) == pytest.approx((0, 3, 2 * 3))


@pytest.mark.parametrize(("alpha", "sum_"), [(0.0, 0.2 + 0.2), (1.0, 7 * 0.2)])
def test_theorem_terms_at_the_ends_of_alpha(context, alpha, sum_):
    # T = 12, tau = 2, t = 4, m = 2: N = 7, K = 3, every e_j is 0.2
    at = context(time=4, horizon=12, drift_bounds=np.full(11, 0.1))
    found = theorem_terms(at, alpha=alpha, m=2, diameter=1.0)
    assert found == pytest.approx((alpha**3, 0.2, 2 * sum_))


def test_theorem_terms_count_drift_that_is_far_ahead(context):
    # T = 65, t = 4: N = 60, and of all e_j only e_60 is not zero; its power is 59, 0.5^59 = 1.7e-18
    bounds = np.zeros(64)
    bounds[-1] = 0.1
    found = theorem_terms(context(time=4, horizon=65, drift_bounds=bounds), alpha=0.5, m=1, diameter=1.0)
    assert found.accumulated == pytest.approx(2 * 0.5**59 * 0.1, abs=0)


def test_a_reward_that_drifts_with_the_state_alone_is_seen():
    before, after = Reward(state_action=np.zeros((2, 2))), Reward(state_action=np.array([[0, 0], [0.3, 0.3]]))
    assert before.change(after) == pytest.approx(0.3)
    assert before.change(before) == 0


def test_a_part_that_one_of_two_rewards_lacks_counts_as_zero():
    old, new = Reward(state_action=np.array([[0.5, -0.2]])), Reward(next_state=np.array([0.3]))
    assert old.change(new) == new.change(old) == pytest.approx(0.5 + 0.3)


@pytest.mark.parametrize("successors", [2, 3, 4, 5])
def test_total_variation_factor_bounds_every_change_and_is_attained(successors):
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(successors), size=2000)
    change = rows[:1000] - rows[1000:]
    ratio = 0.5 * np.abs(change).sum(axis=1) / np.abs(change).max(axis=1)
    factor = total_variation_factor(
        GeneralKernel.from_dense(np.full((successors, 1, successors), 1 / successors))
    )
    assert ratio.max() <= factor + 1e-12
    steepest = np.zeros(successors)
    steepest[:factor], steepest[factor : 2 * factor] = 0.1, -0.1
    assert 0.5 * np.abs(steepest).sum() == pytest.approx(factor * 0.1)


def test_a_score_that_misses_its_threshold_by_rounding_has_reached_it():
    assert compared(0.1 + 0.2 - 0.3 + 0.25, 0.25 + 1e-15, "", {}).update
    assert not compared(0.25, 0.25 + 1e-9, "", {}).update


@pytest.mark.parametrize(
    ("wrong", "culprit"),
    [
        ({"score": "gaps"}, "score"),
        ({"alpha": 1.1}, "alpha"),
        ({"m": 0}, "m must"),
        ({"diameter": -1}, "diameter"),
        ({"diameter": float("nan")}, "diameter"),
        ({"weights": (1, 1)}, "weights"),
        ({"weights": (1, -1, 1)}, "weights"),
        ({"weights": (1, float("nan"), 1)}, "weights"),
        ({"weights": (1, float("inf"), 1)}, "weights"),
        ({"threshold": float("nan")}, "threshold"),
        ({"diameter": float("inf")}, "diameter"),
        ({"phi": "exp"}, "phi"),
        ({"pacing": "odd"}, "pacing"),
    ],
)
def test_wrong_parameters_are_named(wrong, culprit):
    with pytest.raises(InputError, match=culprit):
        RegretGuided(**wrong)


def test_phi_by_name():
    assert named("phi", "sqrt", PHI)(9.0) == 3.0
    assert named("phi", "log", PHI)(1.0) == pytest.approx(log(2))
