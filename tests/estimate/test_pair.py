"""The likelihood of one pair: the optimum, its certificate, its KKT conditions, and what is refused."""

import numpy as np
import pytest

from replan.errors import InputError
from replan.estimate import solve_pair


def certified(instance):
    solution = solve_pair(*instance)
    assert 0 <= solution.gap + 1e-12 <= 1e-8
    return solution


@pytest.mark.parametrize("seed", range(4))
def test_optimum_equals_a_general_convex_solver(seed, reference):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        instance = reference.random_instance(rng)
        assert certified(instance).log_likelihood == pytest.approx(
            reference.optimum(*instance), abs=1e-7, rel=0
        )


@pytest.mark.slow
def test_optimum_equals_a_general_convex_solver_on_many_instances(reference):
    rng = np.random.default_rng(100)
    for _ in range(300):
        instance = reference.random_instance(rng)
        assert certified(instance).log_likelihood == pytest.approx(
            reference.optimum(*instance), abs=1e-7, rel=0
        )


def check_optimality(instance, solution, tolerance=1e-5):
    """Feasible, stationary and complementary: the KKT conditions, from the definition of the problem."""
    times, outcomes, sums, _ = instance
    p, y, nodes = solution.probabilities, solution.multipliers, solution.nodes
    counts = np.zeros_like(p)
    np.add.at(counts, (nodes, outcomes), 1)
    change = np.flatnonzero(np.diff(nodes))
    drift = (sums[times[change + 1]] - sums[times[change]])[:, None]
    assert np.abs(p.sum(axis=1) - 1).max() < 1e-12
    assert p.min() >= 0
    assert (np.abs(np.diff(p, axis=0)) <= drift + 1e-12).all()
    assert not y[0].any()
    assert not y[-1].any()
    force = y[:-1] - y[1:]
    for node in range(len(p)):
        seen = counts[node] > 0
        levels = counts[node, seen] / p[node, seen] - force[node, seen]
        nu = levels.mean()
        assert np.ptp(levels) < tolerance * max(1, abs(nu))
        reduced = force[node] + nu
        assert reduced.min() > -tolerance * max(1, abs(nu))
        assert (reduced * p[node])[~seen].max(initial=0) < tolerance
    slack = drift - np.sign(y[1:-1]) * np.diff(p, axis=0)
    assert (np.abs(y[1:-1]) * slack).max(initial=0) < tolerance


@pytest.mark.parametrize("seed", range(30))
def test_kkt_conditions(seed, reference):
    instance = reference.random_instance(np.random.default_rng(1000 + seed))
    if len(np.unique(instance[1])) > 1:
        check_optimality(instance, solve_pair(*instance))


def test_two_observations_by_hand():
    # Seen 0, then 1, with drift e: log p + log(1 - p + e) is greatest at p = (1 + e) / 2.
    e = 0.1
    solution = solve_pair(np.array([0, 1]), np.array([0, 1]), np.array([0.0, e]), 2)
    assert solution.probabilities == pytest.approx(np.array([[0.55, 0.45], [0.45, 0.55]]), abs=1e-6)
    assert solution.log_likelihood == pytest.approx(2 * np.log(0.55), abs=1e-8)


def test_without_drift_the_optimum_is_the_pooled_frequency():
    outcomes = np.array([0, 2, 2, 1, 2])
    solution = solve_pair(np.arange(5), outcomes, np.zeros(5), 4)
    assert solution.gap == 0
    assert solution.at_observations() == pytest.approx(np.tile([0.2, 0.2, 0.6, 0], (5, 1)))


def test_a_single_successor_ever_seen_has_probability_one():
    solution = solve_pair(np.array([0, 3, 9]), np.array([1, 1, 1]), np.linspace(0, 1, 10), 3)
    assert solution.log_likelihood == 0
    assert (solution.probabilities[:, 1] == 1).all()


def test_bounds_of_one_let_every_time_stand_alone():
    solution = solve_pair(np.arange(6), np.array([0, 1, 2, 0, 1, 2]), np.arange(6.0), 3)
    assert solution.log_likelihood == pytest.approx(0, abs=1e-8)


def test_never_seen_successors_change_nothing_but_the_room_to_drift():
    few = solve_pair(np.arange(8), np.array([0, 1] * 4), np.arange(8) * 0.05, 2)
    many = solve_pair(np.arange(8), np.array([0, 1] * 4), np.arange(8) * 0.05, 20)
    assert many.log_likelihood >= few.log_likelihood - 1e-8


def test_a_thousand_observations_are_certified():
    rng = np.random.default_rng(5)
    for bound in (1e-4, 0.01):
        solution = solve_pair(np.arange(1000), rng.integers(0, 4, 1000), np.arange(1000) * bound, 5)
        assert 0 <= solution.gap <= 1e-5


@pytest.mark.parametrize("seed", range(10))
def test_warm_and_cold_starts_agree(seed, reference):
    times, outcomes, sums, width = reference.random_instance(np.random.default_rng(2000 + seed))
    warm = None
    for last in range(1, min(len(times), 25) + 1):
        warm = solve_pair(times[:last], outcomes[:last], sums, width, earlier=warm)
        cold = solve_pair(times[:last], outcomes[:last], sums, width)
        assert warm.gap <= 1e-8
        assert warm.log_likelihood == pytest.approx(cold.log_likelihood, abs=2e-8, rel=0)


@pytest.mark.parametrize(
    ("times", "outcomes", "message"),
    [
        ([0, 2, 1], [0, 0, 0], "observation 2: time 1 comes after 2"),
        ([0, 1, 9], [0, 0, 0], "observation 2: time 9 lies outside"),
        ([-1, 1, 2], [0, 0, 0], "observation 0: time -1 lies outside"),
        ([0, 1, 2], [0, 3, 0], "observation 1: outcome 3 is not one of the 3 successors"),
    ],
)
def test_bad_rows_are_named(times, outcomes, message):
    with pytest.raises(InputError, match=message):
        solve_pair(np.array(times), np.array(outcomes), np.arange(4) * 0.1, 3)


def test_no_observations_are_refused():
    with pytest.raises(InputError, match="no observations"):
        solve_pair(np.array([], dtype=int), np.array([], dtype=int), np.zeros(3), 3)


def test_observations_may_be_of_any_whole_type():
    times, outcomes, sums = np.arange(6), np.array([0, 1, 0, 2, 1, 0]), 0.05 * np.arange(6)
    expected = solve_pair(times, outcomes, sums, 3)
    other = solve_pair(times.astype(np.int32), outcomes.astype(np.uint8), sums.tolist(), 3)
    np.testing.assert_array_equal(other.probabilities, expected.probabilities)
