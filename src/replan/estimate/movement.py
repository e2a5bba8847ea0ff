"""Movement of the parameters of a family: the prior of `FamilyFilter`.

A pace is the share of the drift bound, with its sign, by which a parameter moves in every step. It lasts,
since drift in practice is a trend or a burst, and is drawn afresh with probability `RENEWAL` in each step.
At the end of its range a parameter turns back; an angle goes on from the other end. In positions of the
family a move is pace times epsilon_t, so that no kernel moves farther than its bound. Most of the prior is
on the whole bound, which a tight bound makes likely.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import reduce
from itertools import product

import numpy as np

from replan import _loops
from replan.model.family import Family
from replan.model.kernel import Array, Indices

PACES = {
    1: (np.array([-1.0, -0.5, 0.0, 0.5, 1.0]), np.array([0.425, 0.05, 0.05, 0.05, 0.425])),
    2: (np.array([-1.0, 0.0, 1.0]), np.array([0.425, 0.15, 0.425])),
}
"""Paces of each parameter and their prior, by the number of parameters.

They are symmetric: a parameter that turns back has the opposite pace.
"""
RENEWAL = 0.02
IMPOSSIBLE = 700.0  # powers of e by which a move is too unlikely to be one of a known pace

log = logging.getLogger(__name__)


class Movement:
    """Hypotheses (pace, member), pace by pace: H = P G rows, and how their weights move."""

    def __init__(self, family: Family) -> None:
        self.names, self.circular = tuple(family.values), family.circular
        self.positions, self.shape = family.positions, family.shape
        self.members = int(np.prod(self.shape))
        self.paces, self.pace_prior = PACES[len(self.shape)]
        self.prior = reduce(np.multiply.outer, [self.pace_prior] * len(self.shape)).reshape(-1)  # (P,)
        self._targets: dict[tuple[float, ...], tuple[Indices, Array]] = {}  # by bounds

    @property
    def cells(self) -> Array:
        """(d,) mean distance of neighbours along each parameter."""
        return np.array([along[-1] / (len(along) - 1) for along in self.positions])

    def spread(self, weights: Array) -> Array:
        """(H,) weights of hypotheses from (G,) weights of members, paces by their prior."""
        return np.multiply.outer(self.prior, weights).reshape(-1)

    def of_members(self, belief: Array) -> Array:
        """(G,) weights of members from (H,) weights of hypotheses."""
        return belief.reshape(-1, self.members).sum(axis=0)

    def move(self, joint: Array, bounds: Array, steps: int) -> Array:
        """(H, C) weights after (d,) bounds that `steps` steps add up to."""
        key = tuple(bounds.tolist())
        if key not in self._targets:
            self._targets[key] = self._find_targets(bounds)
        moved = _loops.general.move_hypotheses(*self._targets[key], np.ascontiguousarray(joint))
        kept = (1 - RENEWAL) ** steps
        by_pace = moved.reshape(len(self.prior), self.members, -1)
        renewed = (1 - kept) * self.prior[:, None, None] * by_pace.sum(axis=0)
        return (kept * by_pace + renewed).reshape(moved.shape)

    def ahead(self, belief: Array, bounds: Array) -> Array:
        """(n + 1, G) weights of members after 0, 1, ..., n steps with (n, d) bounds."""
        rows = [self.of_members(belief)]
        for step in bounds:
            belief = self.move(belief[:, None], step, 1)[:, 0] if step.any() else belief
            rows.append(self.of_members(belief))
        return np.array(rows)

    def after_move(self, before: Array, after: Array, allowed: Array, steps: int) -> Array:
        """(H,) weights from (G,) weights of members before and after `steps` steps with (d,) bounds in all.

        The pace that took them there is known to about half the distance between paces. A parameter that
        moved much farther than its bound allows is logged, and has the pace that comes closest.
        """
        prior, width = np.ones(()), (self.paces[1] - self.paces[0]) / 2
        for axis, bound in enumerate(allowed):
            likely = np.ones(len(self.paces))
            if bound > 0:
                moved = self._change(before, after, axis)
                apart = 0.5 * ((moved / bound - self.paces) / width) ** 2
                if apart.min() > IMPOSSIBLE:
                    log.warning(
                        "%s moved by %.3g in %d steps whose drift bounds allow %.3g",
                        *(self.names[axis], moved, steps, bound),
                    )
                likely = np.exp(apart.min() - apart)
            kept = (1 - RENEWAL) ** steps
            weights = self.pace_prior * likely
            prior = np.multiply.outer(prior, kept * weights / weights.sum() + (1 - kept) * self.pace_prior)
        return np.multiply.outer(prior.reshape(-1), after).reshape(-1)

    def directions(self) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
        """Yield the sign of every parameter's pace, and the (H,) hypotheses that have them."""
        signs = np.sign(self.paces).astype(int)
        by_pace = np.stack(np.meshgrid(*[signs] * len(self.shape), indexing="ij"), axis=-1)
        by_pace = np.repeat(by_pace.reshape(len(self.prior), -1), self.members, axis=0)
        for direction in product((-1, 0, 1), repeat=len(self.shape)):
            yield direction, (by_pace == direction).all(axis=1)

    def _change(self, before: Array, after: Array, axis: int) -> float:
        """Return how far one parameter moved; on a circle, the shorter way round."""
        along = self.positions[axis]
        moved = float(self._along(after, axis) @ along) - float(self._along(before, axis) @ along)
        if self.circular[axis] and abs(moved) > along[-1] * (0.5 + 1e-9):
            return moved - np.copysign(along[-1], moved)
        return moved

    def _along(self, weights: Array, axis: int) -> Array:
        """(g,) weights of the values of one parameter."""
        others = tuple(other for other in range(len(self.shape)) if other != axis)
        return weights.reshape(self.shape).sum(axis=others)

    def _find_targets(self, bounds: Array) -> tuple[Indices, Array]:
        """(H, m) the hypotheses between which each one's weight is shared, and (H, m) the shares."""
        dimensions = len(self.shape)
        pace, corners = np.zeros((), dtype=np.int64), [(np.zeros((), dtype=np.int64), np.ones(()))]
        ranges = zip(self.positions, bounds, self.circular, strict=True)
        for axis, (along, bound, circular) in enumerate(ranges):
            pace_axis, member_axis = axis, dimensions + axis
            shape = [1] * (2 * dimensions)
            shape[pace_axis], shape[member_axis] = len(self.paces), len(along)
            new_pace, lower, share = (
                part.reshape(shape) for part in _shifted(along, self.paces * bound, circular)
            )
            pace = pace * len(self.paces) + new_pace
            corners = [
                (member * len(along) + lower + upper, weight * (share if upper else 1 - share))
                for (member, weight), upper in product(corners, (0, 1))
            ]
        full = (len(self.paces),) * dimensions + self.shape
        targets = [np.broadcast_to(pace * self.members + member, full).reshape(-1) for member, _ in corners]
        shares = [np.broadcast_to(weight, full).reshape(-1) for _, weight in corners]
        return np.stack(targets, axis=1), np.stack(shares, axis=1)


def _shifted(along: Array, moves: Array, circular: bool) -> tuple[Indices, Indices, Array]:
    """(n, g) pace after (n,) moves, neighbour below the new position, and the share of the one above."""
    moved = along + moves[:, None]
    below, above = moved < 0, moved > along[-1]
    index = np.arange(len(moves))[:, None]
    if circular:
        pace = np.broadcast_to(index, moved.shape)
        moved = np.where(below | above, moved % along[-1], moved)
    else:
        pace = np.where(below | above, len(moves) - 1 - index, index)
        moved = np.clip(np.where(below, -moved, np.where(above, 2 * along[-1] - moved, moved)), 0, along[-1])
    lower = np.clip(np.searchsorted(along, moved, side="right") - 1, 0, len(along) - 2)
    return pace, lower, (moved - along[lower]) / (along[lower + 1] - along[lower])
