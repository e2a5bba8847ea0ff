"""The drift-bounded likelihood, written down a second time for a general convex solver."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest


def random_instance(rng):
    """Times, outcomes, summed drift bounds and the number of successors of one pair."""
    observations = int(rng.integers(1, 101)) if rng.random() < 0.4 else int(rng.integers(1, 12))
    width = int(rng.integers(2, 26))
    horizon = int(rng.integers(1, 2 * observations + 2))
    times = np.sort(rng.integers(0, horizon, observations))
    outcomes = rng.choice(width, observations, p=rng.dirichlet(np.full(width, rng.choice([0.1, 1, 10]))))
    if rng.random() < 0.5:
        bounds = rng.choice([0, 1e-4, 1e-2, 0.1, 1], horizon) * rng.random(horizon)
    else:
        bounds = np.full(horizon, rng.choice([0, 1e-6, 1e-3, 0.02, 0.3, 1.0]))
    return times, outcomes, np.concatenate([[0.0], bounds.cumsum()]), width


def convex_program(times, outcomes, sums, width):
    """The variables at the distinct times, the constraints, and the log-likelihood."""
    import cvxpy

    distinct, row = np.unique(times, return_inverse=True)
    p = cvxpy.Variable((len(distinct), width), nonneg=True)
    constraints = [cvxpy.sum(p, axis=1) == 1]
    if len(distinct) > 1:
        drift = np.repeat(np.diff(sums[distinct])[:, None], width, axis=1)
        constraints.append(cvxpy.abs(p[1:] - p[:-1]) <= drift)
    return p, constraints, cvxpy.sum(cvxpy.log(p[row, outcomes])), row


def reference_optimum(times, outcomes, sums, width):
    """The greatest log-likelihood according to cvxpy and Clarabel, at its tightest tolerances."""
    import cvxpy

    _, constraints, likelihood, _ = convex_program(times, outcomes, sums, width)
    problem = cvxpy.Problem(cvxpy.Maximize(likelihood), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at these tolerances Clarabel may say "almost solved"
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-12)
    return problem.value


@pytest.fixture
def reference():
    return SimpleNamespace(
        random_instance=random_instance, convex_program=convex_program, optimum=reference_optimum
    )
