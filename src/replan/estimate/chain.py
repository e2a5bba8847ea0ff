"""One chain of drift-bounded distributions, solved to a certified distance from the optimum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from replan import _loops
from replan.model.kernel import Array

TOLERANCE = 5e-9  # of the certified gap, in log-likelihood
START = 0.1  # the first barrier weight


class ChainSolution(NamedTuple):
    """Distributions at the nodes of a chain and the multipliers that prove them optimal."""

    probabilities: Array
    """(N, m) distribution at each node."""
    multipliers: Array
    """(N + 1, m) multipliers of the links into and out of each node; the outer rows are 0."""
    objective: float
    """Minus the log-likelihood."""
    bound: float
    """Lower bound on the objective of any distributions within the drift bounds."""


def solve_chain(
    counts: Array,
    drift: Array,
    start: Array,
    multipliers: Array,
    *,
    barrier: float = START,
    tolerance: float = TOLERANCE,
    pull: float = 0.0,
    wanted: Array | None = None,
    share: Array | None = None,
) -> ChainSolution:
    """Minimise -sum counts (N, m) log p with |p_{i+1} - p_i| <= drift[i], drift (N, m) with a last row of 0.

    `start` (N, m) must be strictly feasible; `multipliers` (N + 1, m) may be anything inside. A positive
    `pull` adds pull sum (p - wanted)^2 / share / 2, a negative one -pull sum p log(p / share): small, they
    choose among optima. A coordinate that stands for several successors has their number as its share.
    """
    nodes, m = counts.shape
    size = nodes * m
    long = 3 * size - 2 * m
    p, y = start.ravel(), multipliers.ravel()
    work = np.zeros(5 * long + 5 * size + m + 2 * size * m)
    cuts, at = [], 0
    for length in (long,) * 5 + (size + m,) + (size,) * 4 + (2 * size * m,):
        cuts.append(work[at : at + length])
        at += length
    goal = p if wanted is None else wanted.ravel()
    weight = p if share is None else share.ravel()
    objective, bound = _loops.interior_point.solve(
        counts.ravel(), drift.ravel(), p, y, goal, weight, *cuts, m, barrier, tolerance, pull
    )
    return ChainSolution(p.reshape(nodes, m), y.reshape(nodes + 1, m), objective, bound)
