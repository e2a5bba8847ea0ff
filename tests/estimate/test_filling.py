"""What fills the rest: the closest or the most spread-out kernel among the optimal ones."""

import warnings

import numpy as np
import pytest

from replan.errors import InputError
from replan.estimate import DriftBoundedMLE, solve_pair
from replan.estimate.filling import fill_pair, later_rows
from replan.model import SlipKernel


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
