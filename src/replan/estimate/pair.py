"""The drift-bounded maximum likelihood of one state and action, and what fills the part that it leaves open.

Only the pair's own observation times matter, with the drift bounds added up between them: a chain of
distributions, solved to a certified distance from the optimum. Observations between which nothing can drift
are pooled; successors that were never seen are alike, so one coordinate stands for all.

The likelihood fixes the probabilities of seen successors at the times they were seen, and nothing else. The
rest is chosen by a named rule among all kernels that are optimal and within the drift bounds:

- `nominal`: the closest, in least squares, to a given kernel;
- `maximum-entropy`: the most spread out;
- `pooled`: the closest to what all states together show, displacement by displacement.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from replan import _loops
from replan.errors import InputError
from replan.model.kernel import Array, Indices

TOLERANCE = 5e-9  # of the certified gap, in log-likelihood
START = 0.1  # the first barrier weight
Filling = Literal["nominal", "maximum-entropy", "pooled"]
FILLINGS: tuple[Filling, ...] = ("nominal", "maximum-entropy", "pooled")

PULL = 1e-5  # weight of the rule beside the likelihood, which it costs about the square of this
TIGHT = 1e-10  # how well both together are solved, so that the rule itself is to TIGHT / PULL


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
    from t to u. The search starts from `earlier`, the solution of the first observations.
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
    """Return the frequencies, the optimum for a single node or a single successor."""
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


def check_filling(filling: str) -> None:
    """Raise an `InputError` for an unknown rule."""
    if filling not in FILLINGS:
        raise InputError(f"filling must be one of {', '.join(FILLINGS)}, not {filling!r}")


def fill_pair(
    solution: PairSolution,
    times: Indices,
    outcomes: Indices,
    cumulative: Array,
    wanted: Array,
    filling: Filling,
) -> PairSolution:
    """Return the optimal solution that the rule picks; `wanted` (k,) is the distribution to be close to.

    Successors that were never seen and are wanted equally are one coordinate, as they end up equal.
    """
    nodes, width = solution.probabilities.shape
    seen = np.unique(outcomes)
    if len(seen) == 1 or nodes == 1 or width == len(seen) == 2:
        return solution  # nothing is left open
    coordinate, share = _coordinates(seen, wanted, grouped=filling == "maximum-entropy")
    m = len(share)
    gather = np.zeros((width, m))
    gather[np.arange(width), coordinate] = 1.0
    counts = np.zeros((nodes, width))
    np.add.at(counts, (solution.nodes, outcomes), 1.0)
    counts = counts @ gather
    drift = np.zeros((nodes, m))
    change = np.flatnonzero(np.diff(solution.nodes))
    drift[:-1] = (cumulative[times[change + 1]] - cumulative[times[change]])[:, None] * share
    drift[drift >= 1] = 2.0
    frequencies = (counts.sum(axis=0) + 0.5 * share) / (counts.sum() + 0.5 * width)
    start = 0.9 * (solution.probabilities @ gather) + 0.1 * frequencies
    multipliers = solution.multipliers[:, [np.flatnonzero(coordinate == j)[0] for j in range(m)]]
    filled = solve_chain(
        counts,
        drift,
        start,
        np.ascontiguousarray(multipliers),
        barrier=0.01,
        tolerance=TIGHT,
        pull=-PULL if filling == "maximum-entropy" else PULL,
        wanted=np.tile(wanted @ gather, (nodes, 1)),
        share=np.tile(share, (nodes, 1)),
    )
    loss = solution.log_likelihood + filled.objective
    return solution._replace(
        probabilities=(filled.probabilities / share)[:, coordinate],
        log_likelihood=-filled.objective,
        gap=solution.gap + loss,
    )


def later_rows(rows: Array, drift: Array, wanted: Array, possible: np.ndarray) -> Array:
    """(R, k) the distributions closest to `wanted` (R, k) within entrywise `drift` (R,) of `rows` (R, k).

    It is clip(wanted - level) with the level that makes the row sum to 1. Closest to uniform is most spread
    out. Entries that are not `possible` (R, k) stay 0.
    """
    low = np.maximum(rows - drift[:, None], 0.0)
    high = np.minimum(rows + drift[:, None], possible)
    levels = np.sort(
        np.concatenate([wanted - low, wanted - high], axis=1), axis=1
    )  # (R, 2k) where an entry clips
    sums = np.clip(wanted[:, None, :] - levels[:, :, None], low[:, None, :], high[:, None, :]).sum(axis=2)
    after = np.clip((sums > 1.0).sum(axis=1), 1, levels.shape[1] - 1)[:, None]  # sums fall along the levels
    (begin, end), (more, less) = (
        (np.take_along_axis(values, after - 1, axis=1), np.take_along_axis(values, after, axis=1))
        for values in (levels, sums)
    )
    fraction = np.clip((more - 1.0) / np.where(more > less, more - less, 1.0), 0.0, 1.0)
    closest = np.clip(wanted - (begin + fraction * (end - begin)), low, high)
    return closest / closest.sum(axis=1, keepdims=True)


def pooled_wanted(nominal: Array, displacements: Indices, possible: np.ndarray, seen: Indices) -> Array:
    """(S, A, k) displacements of each action pooled over states, plus one nominal draw.

    displacements (S, k) numbers where each successor lies relative to its state, possible (S, k) tells
    padding; seen (n, 2) are the actions and displacements of all transitions.
    """
    counts = np.zeros((nominal.shape[1], int(displacements.max()) + 1))
    np.add.at(counts, (seen[:, 0], seen[:, 1]), 1.0)
    wanted = nominal + counts[:, displacements].transpose(1, 0, 2) * possible[:, None, :]
    return wanted / wanted.sum(axis=2, keepdims=True)


def _coordinates(seen: Indices, wanted: Array, *, grouped: bool) -> tuple[Indices, Array]:
    """(k,) the coordinate of each successor and (m,) how many successors each coordinate stands for."""
    label = np.zeros_like(wanted) if grouped else wanted.copy()
    label[seen] = 2.0 + np.arange(len(seen))  # wanted is at most 1, so labels are distinct
    _, coordinate, share = np.unique(label, return_inverse=True, return_counts=True)
    return coordinate, share.astype(float)
