"""The estimators beside cvxpy with Clarabel, on the same instances: `python -m benchmarks estimate`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

from benchmarks.timing import Row, alone, compare
from replan.estimate.drift_bounded_mle import DriftBoundedMLE
from replan.estimate.observations import Transitions
from replan.estimate.pair import solve_pair
from replan.model.slip import SlipKernel

BOUND = 0.02
WIDTH = 5  # successors
CALLS = 20  # of ours in one timing, so that the clock can tell


def rows() -> list[Row]:
    """One row a claim."""
    table = [row for observations in (5, 20, 100) for row in one_pair(observations)]
    kernel, seen = SlipKernel((12, 12), 0.2), mission()
    table.append(compare("whole kernel, n = 12, 50 updates", lambda: whole_kernel(kernel, seen), repeat=20))
    for what, cold in (("first estimate of a process", False), ("the same with nothing compiled yet", True)):
        table.append(alone(what, in_new_process(cold)))
    return table


def one_pair(observations: int) -> list[Row]:
    """The likelihood of one pair, against cvxpy from numbers to optimum and against Clarabel's part of it."""
    rng = np.random.default_rng(observations)
    outcomes = rng.choice(WIDTH, observations, p=[0.6, 0.1, 0.1, 0.1, 0.1])
    times, sums = np.arange(observations), BOUND * np.arange(observations)
    solver: list[float] = []

    def ours() -> None:
        for _ in range(CALLS):
            solve_pair(times, outcomes, sums, WIDTH)

    def peer() -> None:
        solver.append(convex_program(times, outcomes, sums))

    what = f"drift-bounded likelihood of one pair, {observations} observations"
    row = compare(what, ours, "cvxpy + Clarabel, end to end", peer, repeat=9)
    row["ours_seconds"] /= CALLS
    return [row, {**row, "peer": "Clarabel's solve alone", "peer_seconds": min(solver)}]


def convex_program(times, outcomes, sums) -> float:
    """Build and solve with cvxpy at its default tolerances; the seconds that Clarabel took of it."""
    import cvxpy

    p = cvxpy.Variable((len(times), WIDTH), nonneg=True)
    drift = np.repeat(np.diff(sums)[:, None], WIDTH, axis=1)
    constraints = [cvxpy.sum(p, axis=1) == 1, cvxpy.abs(p[1:] - p[:-1]) <= drift]
    likelihood = cvxpy.sum(cvxpy.log(p[np.arange(len(times)), outcomes]))
    problem = cvxpy.Problem(cvxpy.Maximize(likelihood), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver="CLARABEL")
    return problem.solver_stats.solve_time


def mission() -> Transitions:
    """Fifty transitions of a rover that is carried back now and then."""
    kernel, rng = SlipKernel((12, 12), 0.2), np.random.default_rng(0)
    state, seen = 0, []
    for t in range(50):
        action = int(rng.choice([0, 2]))
        after = int(kernel.sample(np.array([state]), np.array([action]), rng.random(1))[0])
        seen.append((t, state, action, after))
        state = after if t % 4 else 0
    return Transitions.of_rows(seen)


def whole_kernel(kernel: SlipKernel, seen: Transitions) -> None:
    estimator = DriftBoundedMLE(kernel, np.full(49, BOUND))
    estimator.learn(seen)
    estimator.kernel(49)


FIRST_ESTIMATE = """
import numpy as np
from replan.estimate.pair import solve_pair
solve_pair(np.arange(5), np.arange(5) % 3, 0.02 * np.arange(5), 5)
"""


def in_new_process(cold: bool) -> float:
    """Seconds that a process with one estimate takes; `cold`: with numba's cache empty."""
    with tempfile.TemporaryDirectory() as empty:
        environment = os.environ | ({"NUMBA_CACHE_DIR": empty} if cold else {})
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", FIRST_ESTIMATE], env=environment, check=True)
        return time.perf_counter() - began
