"""The estimator against cvxpy with Clarabel, on the same instances in the same run: `python -m benchmarks.estimate`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

from replan.estimate import DriftBoundedMLE, solve_pair, transitions
from replan.model import SlipKernel

BOUND = 0.02
WIDTH = 5


def rows() -> list[dict]:
    """One row a claim: what was timed, our seconds, the peer and its seconds."""
    table = []
    for observations, repeats in ((5, 7), (20, 7), (100, 5)):
        times, outcomes, sums = instance(observations)
        ours = fastest(lambda: solve_pair(times, outcomes, sums, WIDTH), repeats=20, inner=20)  # noqa: B023
        whole, solver = zip(*(reference(times, outcomes, sums) for _ in range(repeats)), strict=True)
        what = f"drift-bounded likelihood of one pair, {observations} observations"
        table.append(row(what, ours, "cvxpy + Clarabel, end to end", min(whole)))
        table.append(row(what, ours, "Clarabel alone", min(solver)))
    table.append(row("whole kernel, n = 12, 50 updates", fastest(whole_kernel, repeats=20), None, None))
    table.append(row("first call of a process, compiled code cached", first_call(cached=True), None, None))
    table.append(row("first call of all, nothing cached", first_call(cached=False), None, None))
    return table


def row(what: str, ours: float, peer: str | None, theirs: float | None) -> dict:
    return {"what": what, "ours_seconds": ours, "peer": peer, "peer_seconds": theirs}


def instance(observations: int):
    rng = np.random.default_rng(observations)
    outcomes = rng.choice(WIDTH, observations, p=[0.6, 0.1, 0.1, 0.1, 0.1])
    return np.arange(observations), outcomes, BOUND * np.arange(observations)


def fastest(call, *, repeats: int, inner: int = 1) -> float:
    """The least of several means: what the machine can do when nothing else disturbs it."""
    call()
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(inner):
            call()
        seconds.append((time.perf_counter() - begin) / inner)
    return min(seconds)


def reference(times, outcomes, sums) -> tuple[float, float]:
    """Seconds of cvxpy from numbers to optimum, and of Clarabel's own solve in it."""
    import cvxpy

    begin = time.perf_counter()
    p = cvxpy.Variable((len(times), WIDTH), nonneg=True)
    drift = np.repeat(np.diff(sums)[:, None], WIDTH, axis=1)
    constraints = [cvxpy.sum(p, axis=1) == 1, cvxpy.abs(p[1:] - p[:-1]) <= drift]
    problem = cvxpy.Problem(
        cvxpy.Maximize(cvxpy.sum(cvxpy.log(p[np.arange(len(times)), outcomes]))), constraints
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver="CLARABEL")
    return time.perf_counter() - begin, problem.solver_stats.solve_time


def whole_kernel() -> None:
    """Fifty transitions of a rover, learned and made into a kernel."""
    kernel = SlipKernel((12, 12), 0.2)
    rng = np.random.default_rng(0)
    state, seen = 0, []
    for t in range(50):
        action = int(rng.choice([0, 2]))
        after = int(kernel.sample(np.array([state]), np.array([action]), rng.random(1))[0])
        seen.append((t, state, action, after))
        state = after if t % 4 else 0
    estimator = DriftBoundedMLE(kernel, np.full(49, BOUND))
    estimator.learn(transitions(seen))
    estimator.kernel(49)


FIRST_CALL = """
import time; begin = time.perf_counter()
import numpy as np
from replan.estimate import solve_pair
solve_pair(np.arange(5), np.array([0, 1, 0, 2, 0]), 0.02 * np.arange(5), 5)
print(time.perf_counter() - begin)
"""


def first_call(*, cached: bool) -> float:
    """Seconds of a new process from import to answer; without the cache, numba compiles everything."""
    import os

    with tempfile.TemporaryDirectory() as empty:
        environment = dict(os.environ) | ({} if cached else {"NUMBA_CACHE_DIR": empty})
        command = [sys.executable, "-c", FIRST_CALL]
        return float(
            subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        )


def main() -> None:
    for entry in rows():
        line = f"{entry['what']}: {1e3 * entry['ours_seconds']:.3f} ms"
        if entry["peer"]:
            ratio = entry["peer_seconds"] / entry["ours_seconds"]
            line += f"; {entry['peer']} {1e3 * entry['peer_seconds']:.2f} ms, {ratio:.0f}x"
        print(line)


if __name__ == "__main__":
    main()
