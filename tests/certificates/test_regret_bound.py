"""The theorem as its proof supports it, lemma by lemma, and the printed form that fails."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.certificates.drifting_worlds import general_cases
from tests.certificates.test_certificate import two_burst

from replan import Robot, Spending
from replan.certificates.lemmas import (
    Lemmas,
    error_propagation,
    optimal_policies,
    printed_bound,
)
from replan.certificates.mixing import Chains, diameter, overlap
from replan.certificates.regret_bound import skipped, supported_overlap, supported_terms, theorem
from replan.evaluation.exact import regret
from replan.evaluation.visits import Follow
from replan.execute.mission import Mission
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import constant
from replan.model.reward import Reward, reward_range
from replan.model.world import World
from replan.planning.optimal_values import oracle
from replan.schedule.fixed import FixedTimes
from replan.schedule.periodic import periodic_times


def arrival_values(world, best, t):
    """(S,) R_t + V*_{t+1}."""
    part = world.reward(t).next_state
    return best.values[t + 1] + (0 if part is None else part)


def measured_scale(mission, best):
    """The least scale that the lemmas allow: measured spans, and H rewards for the plans."""
    spans = [np.ptp(best.values[t]) for t in range(mission.horizon)]
    spans += [np.ptp(arrival_values(mission.world, best, t)) for t in range(mission.horizon)]
    return max(*spans, mission.robot.planning_horizon * reward_range(mission.world.reward, mission.horizon))


def lemmas_of(case):
    best = oracle(case.mission.world)
    return Lemmas(case.mission, measured_scale(case.mission, best)), best


def contraction(case, best, m):
    mission = case.mission
    return 1 - supported_overlap(mission, case.times, Chains(mission.world), optimal_policies(best), m=m)


@given(general_cases(), general_cases(), st.integers(1, 4))
def test_values_of_two_worlds_differ_by_no_more_than_errors_propagate(one, two, m):
    mine, other = one.mission.world, two.mission.world
    if (mine.states, mine.horizon) != (other.states, other.horizon):
        other = World(mine.horizon, lambda t: mine.kernel(mine.horizon - 1 - t), constant(mine.reward(0)))
    best, theirs = oracle(mine), oracle(other)
    errors = [
        mine.kernel(t).total_variation(other.kernel(t)).max() * np.ptp(arrival_values(other, theirs, t))
        + mine.reward(t).change(other.reward(t))
        for t in range(mine.horizon)
    ]
    chains, optimal, answer = Chains(mine), optimal_policies(best), optimal_policies(theirs)
    eta = min(
        (
            overlap(chains.matrix(k, m, optimal.__getitem__), chains.matrix(k, m, answer.__getitem__))
            for k in range(0, mine.horizon - m + 1, m)
        ),
        default=1.0,
    )
    bound = error_propagation(errors, 0.0, alpha=1 - eta, m=m)
    assert np.ptp(best.values[0] - theirs.values[0]) <= bound + 1e-9


@given(general_cases(), st.integers(1, 5))
def test_an_updated_plan_loses_no_more_than_its_term(case, m):
    lemmas, best = lemmas_of(case)
    alpha = contraction(case, best, m)
    for tau in (0, *case.times):
        policy = case.mission.update(tau).plan.policy
        lost = best.loss(tau)[np.arange(len(policy)), policy].max()
        assert lost <= lemmas.update_time(tau, alpha=alpha, m=m) + 1e-9


@given(general_cases(), st.integers(1, 5))
def test_drift_shifts_actions_against_each_other_no_more_than_its_terms(case, m):
    lemmas, best = lemmas_of(case)
    alpha = contraction(case, best, m)
    for tau, t in skipped(case.times, case.mission.horizon):
        span = np.ptp(best.q_values(t) - best.q_values(tau), axis=1).max()
        terms = (
            lemmas.residual_horizon(t, alpha=alpha, m=m)
            + lemmas.immediate_drift(tau, t)
            + lemmas.accumulated_drift(tau, t, alpha=alpha, m=m)
        )
        assert span <= terms + 1e-9


@given(general_cases())
def test_another_states_action_loses_no_more_than_the_state_mismatch(case):
    lemmas, best = lemmas_of(case)
    for t in range(case.mission.horizon):
        assert np.ptp(best.q_values(t), axis=1).max() <= lemmas.state_mismatch(t) + 1e-9


@given(general_cases())
def test_values_span_at_most_the_diameter_times_the_range_of_the_reward(case):
    best = oracle(case.mission.world)
    width = reward_range(case.mission.world.reward, case.mission.horizon)
    assert np.ptp(best.values, axis=1).max() <= diameter(best) * width + 1e-9


@given(general_cases(), st.sampled_from(["diameter", "span"]))
def test_regret_is_below_the_supported_bound(case, spread):
    found = theorem(case.mission, case.times, spread=spread)
    gap = oracle(case.mission.world).values[0] - Follow(case.mission, FixedTimes(case.times)).returns()
    assert gap.max() <= found.total + 1e-9
    if found.m is not None:
        assert sum(found.terms.values()) == pytest.approx(found.total)


def guessing_game():
    """The next state is a fair coin whatever is done; guessing the state pays 1. No drift, alpha = 0."""
    coin = GeneralKernel.from_dense(np.full((2, 2, 2), 0.5))
    world = World(10, constant(coin), constant(Reward(state_action=np.eye(2))))
    return Mission(world, Robot(planning_horizon=3), Spending.exactly(1))


def test_the_printed_form_is_violated():
    mission = guessing_game()
    found = theorem(mission, (1,))
    assert found.printed.alpha == 0
    assert found.printed.total == 0
    assert regret(mission, FixedTimes((1,))) == pytest.approx(4.0)
    assert found.total >= 8 * 1.0


def test_a_span_over_actions_needs_twice_the_total_variation():
    before = np.array([[0.5, 0.5], [0.5, 0.5]])  # (A, S)
    after = np.array([[0.6, 0.4], [0.4, 0.6]])
    values = np.array([1.0, 0.0])
    span = np.ptp((after - before) @ values)
    variation = 0.5 * np.abs(after - before).sum(axis=1).max()
    assert span == pytest.approx(2 * variation * np.ptp(values))


def test_without_overlap_it_says_that_it_promises_nothing():
    swap = GeneralKernel.from_dense(np.array([[[0.0, 1.0]], [[1.0, 0.0]]]))
    world = World(6, constant(swap), constant(Reward(next_state=np.array([0.0, 1.0]))))
    found = theorem(Mission(world, Robot(planning_horizon=2), Spending.exactly(2)), (1, 3))
    assert found.total == np.inf
    assert found.m is None
    assert "promises nothing" in found.says


def deterministic(successors, reward):
    """Two states that lead to the given ones, whatever of two actions is taken."""
    kernel = GeneralKernel.from_dense(np.eye(2)[[[s, s] for s in successors]])
    world = World(8, constant(kernel), constant(Reward(state_action=np.array(reward))))
    return Mission(world, Robot(planning_horizon=3), Spending.exactly(2))


@pytest.mark.filterwarnings("error")
def test_where_the_best_state_is_left_for_ever_it_says_that_the_diameter_is_infinite():
    mission = deterministic([1, 1], [[5.0, 4.0], [0.0, 0.5]])
    found = theorem(mission, (1, 4))
    assert (found.total, found.diameter, found.printed.total) == (np.inf, np.inf, np.inf)
    assert found.says == "D is infinite: the theorem promises nothing"
    measured = theorem(mission, (1, 4), spread="span")
    assert np.isfinite(measured.total) and measured.says == "alpha = 0 over blocks of m = 1 steps"
    assert measured.printed.total == np.inf


@pytest.mark.filterwarnings("error")
def test_where_every_reward_is_the_same_nothing_can_be_lost():
    coin = GeneralKernel.from_dense(np.full((2, 2, 2), 0.5))
    world = World(8, constant(coin), constant(Reward(state_action=np.ones((2, 2)))))
    found = theorem(Mission(world, Robot(planning_horizon=3), Spending.exactly(2)), (1, 4))
    assert found.scale == found.total == 0


def test_the_printed_form_multiplies_total_variations_by_the_diameter():
    kernels = [GeneralKernel.from_dense(np.array([[[1 - p, p]] * 2] * 2)) for p in np.linspace(0.2, 0.6, 6)]
    world = World(6, kernels.__getitem__, constant(Reward(state_action=np.zeros((2, 2)))))
    lemmas = Lemmas(Mission(world, Robot(planning_horizon=2), Spending.exactly(1)), 0.0)
    assert lemmas.estimate_variations(1) == pytest.approx([0.08, 0.16])
    terms = printed_bound(lemmas, (1,), diameter=10.0, alpha=0.0, m=1)
    assert terms["update_time"] == pytest.approx(0.8 + 2 * 1.6)


@pytest.mark.slow
def test_two_burst_is_in_the_thousands():
    mission, times = two_burst(), periodic_times(50, 4)
    assert theorem(mission, times).total == pytest.approx(9302, abs=1)
    assert theorem(mission, times, spread="span").total == pytest.approx(3800, abs=1)


def test_the_best_m_is_the_best():
    case = guessing_game()
    slow = GeneralKernel.from_dense(np.array([[[0.9, 0.1]] * 2, [[0.1, 0.9]] * 2]))
    mission = Mission(
        World(12, constant(slow), case.world.reward), Robot(planning_horizon=4), Spending.exactly(2)
    )
    found = theorem(mission, (1, 6), spread="span")
    best = oracle(mission.world)
    lemmas = Lemmas(mission, found.scale)
    for m in range(1, 12):
        eta = supported_overlap(mission, (1, 6), Chains(mission.world), optimal_policies(best), m=m)
        eta = min(eta, 1 - 0.8**m)  # two rows of the m-th power of this chain share 1 - 0.8^m
        total = sum(supported_terms(lemmas, (1, 6), alpha=1 - eta, m=m).values())
        assert found.total <= total + 1e-9
