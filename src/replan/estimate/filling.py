"""Rules that fill the part of a kernel that the data does not determine.

The likelihood fixes the probabilities of seen successors at the times they were seen, and nothing else. The
rest is chosen by a named rule among all kernels that are optimal and within the drift bounds:

- `nominal`: the closest, in least squares, to a given kernel;
- `maximum-entropy`: the most spread out;
- `pooled`: the closest to what all states together show, displacement by displacement.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from replan.errors import InputError
from replan.estimate.chain import solve_chain
from replan.estimate.pair import PairSolution
from replan.model.kernel import Array, Indices

Filling = Literal["nominal", "maximum-entropy", "pooled"]
FILLINGS: tuple[Filling, ...] = ("nominal", "maximum-entropy", "pooled")

PULL = 1e-5  # weight of the rule beside the likelihood, which it costs about the square of this
TIGHT = 1e-10  # how well both together are solved, so that the rule itself is to TIGHT / PULL


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
    label[seen] = 2.0 + np.arange(len(seen))  # wanted is at most 1: a label of its own
    _, coordinate, share = np.unique(label, return_inverse=True, return_counts=True)
    return coordinate, share.astype(float)
