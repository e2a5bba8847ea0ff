"""The drift-bounded maximum likelihood of one state and action.

Only the pair's own observation times matter, with the drift bounds added up between them. Observations
between which nothing can drift are pooled; successors that were never seen are alike, so one coordinate
stands for all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from replan import _loops
from replan.errors import InputError
from replan.estimate.chain import TOLERANCE, solve_chain
from replan.model.kernel import Array, Indices


class PairSolution(NamedTuple):
    """An optimum for one pair, before a rule fills what the likelihood leaves open."""

    nodes: Indices
    """(K,) node of each observation; observations of one node share a distribution."""
    probabilities: Array
    """(N, k) distribution at each node."""
    multipliers: Array
    """(N + 1, k) multipliers of the drift bounds into and out of each node."""
    log_likelihood: float
    """Log-likelihood of the observations."""
    gap: float
    """The optimum of the log-likelihood is at most this much higher."""

    def at_observations(self) -> Array:
        """(K, k) the distribution at each observation."""
        return self.probabilities[self.nodes]


def solve_pair(
    times: Indices,
    outcomes: Indices,
    cumulative: Array,
    width: int,
    *,
    earlier: PairSolution | None = None,
    tolerance: float = TOLERANCE,
) -> PairSolution:
    """Maximise the likelihood of `outcomes` (K,), slots 0..width-1, seen at the sorted `times` (K,).

    cumulative (T,) holds the summed drift bounds, so that cumulative[u] - cumulative[t] bounds the drift
    from t to u. `earlier`, the solution for the first observations alone, is where the search then starts.
    """
    if not len(times):
        raise InputError("there are no observations")
    times, outcomes = (np.ascontiguousarray(part, dtype=np.int64) for part in (times, outcomes))
    cumulative = np.ascontiguousarray(cumulative, dtype=float)
    coordinate = np.full(width, -1)
    node = np.empty(len(times), np.int64)
    nodes, seen = _loops.interior_point.reduce(times, outcomes, cumulative, node, coordinate)
    if nodes < 0:
        raise InputError(_complaint(-nodes - 1, times, outcomes, cumulative, width))
    if seen == 1 or nodes == 1:
        return _pooled(outcomes, node, nodes, width)
    unseen = width - seen
    m = seen + (unseen > 0)
    coordinate[coordinate < 0] = seen
    counts, drift = np.zeros((nodes, m)), np.zeros((nodes, m))
    start, y = np.empty((nodes, m)), np.zeros((nodes + 1, m))
    old_p, old_y = _aggregate(earlier, coordinate, m)
    flat = (counts.ravel(), drift.ravel(), start.ravel(), y.ravel())
    _loops.interior_point.build(times, cumulative, node, coordinate[outcomes], unseen, m, *flat, old_p, old_y)
    solved = solve_chain(counts, drift, start, y, tolerance=tolerance)
    probabilities = solved.probabilities[:, coordinate]
    if unseen > 1:
        probabilities[:, coordinate == seen] /= unseen
    gap = solved.objective - solved.bound
    solution = PairSolution(node, probabilities, solved.multipliers[:, coordinate], -solved.objective, gap)
    if gap <= tolerance or (earlier is None and tolerance > TOLERANCE):
        return solution
    # Rounding errors keep the gap open where bounds are tiny: solve from scratch, or to twice the tolerance.
    again = solve_pair(
        times, outcomes, cumulative, width, tolerance=tolerance if earlier is not None else 2 * tolerance
    )
    return again if again.gap < gap else solution


def _pooled(outcomes: Indices, node: Indices, nodes: int, width: int) -> PairSolution:
    """Return the optimum where there is one node, or one successor ever seen: the frequencies."""
    share = np.bincount(outcomes, minlength=width) / len(outcomes)
    log_likelihood = float(np.log(share[outcomes]).sum())
    return PairSolution(node, np.tile(share, (nodes, 1)), np.zeros((nodes + 1, width)), log_likelihood, 0.0)


_NOTHING = np.empty(0)


def _aggregate(earlier: PairSolution | None, coordinate: Indices, m: int) -> tuple[Array, Array]:
    """Return an earlier solution in the new coordinates, flat; a new coordinate takes its share along."""
    if earlier is None:
        return _NOTHING, _NOTHING
    p = np.zeros((len(earlier.probabilities), m))
    y = np.zeros((len(earlier.multipliers), m))
    np.add.at(p.T, coordinate, earlier.probabilities.T)
    y[:, coordinate] = earlier.multipliers
    return p.ravel(), y.ravel()


def _complaint(row: int, times: Indices, outcomes: Indices, cumulative: Array, width: int) -> str:
    if not 0 <= times[row] < len(cumulative):
        return (
            f"observation {row}: time {times[row]} lies outside the drift bounds (0 to {len(cumulative) - 1})"
        )
    if not 0 <= outcomes[row] < width:
        return f"observation {row}: outcome {outcomes[row]} is not one of the {width} successors"
    return f"observation {row}: time {times[row]} comes after {times[row - 1]}; sort the observations by time"
