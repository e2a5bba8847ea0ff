"""The likelihood of one pair: the optimum, its certificate, its KKT conditions, and what is refused."""

import warnings

import numpy as np
import pytest

from replan.errors import InputError
from replan.estimate.drift_bounded_mle import DriftBoundedMLE
from replan.estimate.pair import fill_pair, later_rows, solve_pair
from replan.model.slip import SlipKernel


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


def objective(rows, wanted, filling):
    if filling == "maximum-entropy":
        return float((rows * np.log(np.maximum(rows, 1e-300))).sum())
    return float(((rows - wanted) ** 2).sum())


def reference_filling(reference, instance, seen, wanted, filling):
    """The same choice by a general convex solver, with the probabilities of what was `seen` held."""
    import cvxpy

    p, constraints, _, row = reference.convex_program(*instance)
    constraints.append(cvxpy.abs(p[row, instance[1]] - seen) <= 1e-9)
    goal = cvxpy.sum_squares(p - np.tile(wanted, (p.shape[0], 1)))
    if filling == "maximum-entropy":
        goal = -cvxpy.sum(cvxpy.entr(p))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cvxpy.Problem(cvxpy.Minimize(goal), constraints).solve(solver="CLARABEL")
    return p.value


@pytest.mark.parametrize("filling", ["nominal", "maximum-entropy"])
def test_filling_is_the_best_among_optimal_kernels(filling, reference):
    rng = np.random.default_rng(8)
    compared = 0
    while compared < 8:
        times, outcomes, sums, width = instance = reference.random_instance(rng)
        distinct, first = np.unique(times, return_index=True)
        nothing_open = len(np.unique(outcomes)) < 2 or (np.diff(sums[distinct]) <= 0).any()
        if len(times) > 20 or width > 8 or len(distinct) < 2 or nothing_open:
            continue
        wanted = rng.dirichlet(np.ones(width))
        filled = fill_pair(solve_pair(*instance), times, outcomes, sums, wanted, filling)
        rows = filled.at_observations()
        expected = reference_filling(
            reference, instance, rows[np.arange(len(times)), outcomes], wanted, filling
        )
        assert filled.gap <= 1e-8
        assert objective(rows[first], wanted, filling) == pytest.approx(
            objective(expected, wanted, filling), abs=1e-4
        )
        assert rows[first] == pytest.approx(expected, abs=3e-3)
        compared += 1


def test_seen_probabilities_are_kept():
    times, outcomes, sums = np.arange(6), np.array([0, 1, 0, 2, 0, 0]), np.arange(6) * 0.05
    solution = solve_pair(times, outcomes, sums, 5)
    filled = fill_pair(solution, times, outcomes, sums, np.full(5, 0.2), "nominal")
    rows = np.arange(6)
    before, after = solution.at_observations()[rows, outcomes], filled.at_observations()[rows, outcomes]
    assert after == pytest.approx(before, abs=1e-4)
    assert (np.abs(np.diff(filled.probabilities, axis=0)) <= 0.05 + 1e-12).all()


def test_later_rows_are_the_projection():
    import cvxpy

    rng = np.random.default_rng(2)
    rows, wanted = rng.dirichlet(np.ones(5), 6), rng.dirichlet(np.ones(5), 6)
    drift = np.array([0, 0.01, 0.05, 0.1, 0.3, 1.0])
    possible = np.ones((6, 5), dtype=bool)
    for row, e, q, got in zip(rows, drift, wanted, later_rows(rows, drift, wanted, possible), strict=True):
        p = cvxpy.Variable(5, nonneg=True)
        problem = cvxpy.Problem(
            cvxpy.Minimize(cvxpy.sum_squares(p - q)), [cvxpy.sum(p) == 1, cvxpy.abs(p - row) <= e]
        )
        problem.solve(solver="CLARABEL")
        assert got == pytest.approx(p.value, abs=1e-6)


def test_with_enough_drift_a_row_returns_to_what_is_wanted():
    rows, wanted = np.array([[1.0, 0, 0]]), np.array([[0.2, 0.3, 0.5]])
    assert later_rows(rows, np.array([0.9]), wanted, np.ones((1, 3), bool)) == pytest.approx(
        wanted, abs=1e-12
    )


def test_unknown_filling_is_refused():
    with pytest.raises(InputError, match="filling must be one of"):
        DriftBoundedMLE(SlipKernel((3, 3), 0.1), 0.1, filling="guess")  # pyright: ignore[reportArgumentType]
