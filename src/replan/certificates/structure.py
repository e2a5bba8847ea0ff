"""Known structure: one slip for the whole grid, so that the kernel is one number that drifts.

A bound on an entry's change is a bound on the slip's: the entry that changes most with the slip does so by
`steepness`, 0.8 on an open grid with a uniform law. Time is joined by cells: the range of the slip at each
time is cut into intervals, and an interval leads only to those that one step's drift can reach. Within an
interval every bound is linear or convex in the slip, so its two ends suffice and nothing is lost to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from replan import _loops
from replan.certificates.knowledge import (
    CONTRADICTION_TOLERANCE,
    Estimate,
    Known,
    NoStructure,
    possible_successors,
    spread,
)
from replan.model.family import KernelFamily, with_slip
from replan.model.kernel import Array, Indices
from replan.model.slip import SlipKernel

NARROW = 1e-12  # ranges of slip below this are one point


class SlipRange:
    """An `Uncertainty` whose kernels are one slip per time, within its drift of every estimate."""

    contradiction: str | None = None

    def __init__(self, known: Known, *, both_ends: bool = True, cells: int = 1) -> None:
        self.slips = known.parameters()
        self.family = cast(KernelFamily, known.family)
        kernel = self.family.first
        if not (isinstance(kernel, SlipKernel) and self.family.is_one_slip):
            raise NoStructure("the structure cannot be used: it is not one slip for a whole grid")
        self.horizon = len(known.drift_bounds) + 1
        self.kernel, self.moves, self.law = kernel, kernel.destinations(), kernel.law
        steepness = self.family.steepness()
        self.known, self.steepness = known, steepness
        self.drift_bounds = known.drift_bounds / steepness.max()
        self.low, self.high = np.zeros(self.horizon), np.ones(self.horizon)
        for t in range(self.horizon):
            self._check(t, *self._intersection(t, known.estimates))  # whichever of them are used below
            ends = self._intersection(t, known.about(t, both_ends=both_ends))
            self.low[t], self.high[t] = min(ends), max(ends)
        self._edges = [self._cut(t, cells) for t in range(self.horizon)]

    def _intersection(self, t: int, estimates: Sequence[Estimate]) -> tuple[float, float]:
        low, high = 0.0, 1.0
        for estimate in estimates:
            slip = self.slips[estimate.time]
            reach = self.known.drift(estimate.time, t) / self.steepness.max()
            if estimate.radius is not None:
                tells = self.steepness > 0
                reach += float((estimate.radius[tells] / self.steepness[tells]).min())
            low, high = max(low, slip - reach), min(high, slip + reach)
        return low, high

    def _check(self, t: int, low: float, high: float) -> None:
        excess = low - high
        if self.contradiction is None and excess > CONTRADICTION_TOLERANCE:
            self.contradiction = (
                f"the slips estimated around t={t} differ by {excess:.3g} more than the drift bounds allow: "
                "the bounds are too small"
            )

    def _cut(self, t: int, cells: int) -> Array:
        wide = self.high[t] - self.low[t] > NARROW
        return np.linspace(self.low[t], self.high[t], (cells if wide else 1) + 1)

    def ends(self, t: int, cell: int) -> Array:
        """(2,) the least and the greatest slip of a cell."""
        return self._edges[t][cell : cell + 2]

    @property
    def actions(self) -> int:
        """Number of actions A."""
        return self.moves.shape[1]

    def cells(self, t: int) -> int:
        """The number of intervals at time t."""
        return len(self._edges[t]) - 1

    def following(self, t: int, cell: int) -> slice:
        """The intervals of t + 1 that one step of drift can reach."""
        low, high = self.ends(t, cell)
        drift = self.drift_bounds[t] + NARROW
        edges = self._edges[t + 1]
        first = int(np.clip(np.searchsorted(edges[1:], low - drift), 0, len(edges) - 2))
        last = int(
            np.clip(np.searchsorted(edges[:-1], high + drift, side="right"), first + 1, len(edges) - 1)
        )
        return slice(first, last)

    def best(self, t: int, cell: int, values: Array) -> Array:
        """(S, A) the greatest expectation of (S,) values of the next state."""
        made = values[self.moves]
        slipped = (made @ self.law)[:, None]
        return np.max([(1 - slip) * made + slip * slipped for slip in self.ends(t, cell)], axis=0)

    def step(self, t: int, cell: int, cost: Array, actions: Indices, ahead: Array, where: Array) -> Array:
        """(X, S) greatest cost[v, s, a] + E[ahead[x]] over the two ends."""
        return _loops.certificates.slip_step(
            self.moves, self.law, self.ends(t, cell), cost, actions, ahead, where
        )

    def plain(self, cost: Array) -> Array:
        """(2, S, A) the same at both ends."""
        return np.ascontiguousarray(np.broadcast_to(cost, (2, *cost.shape)))

    def advantages(self, t: int, cell: int, reward: Array, apart: Array) -> Array:
        """(2, S, A, A) a bound on Q_t(s, b) - Q_t(s, a) at the two ends: slips lead both alike."""
        return _loops.certificates.slip_advantages(self.moves, self.ends(t, cell), reward, apart)

    def pairs(self, t: int, cell: int, reward: Array, apart: Array, nominal: Array) -> Array:
        """(S, S) a bound on V_t(s) - V_t(s'), with the same slip in both states."""
        low, high = self.ends(t, cell)
        if reward.any():
            return _loops.certificates.slip_pairs_with_reward(self.moves, self.law, low, high, reward, apart)
        return _loops.certificates.slip_pairs(self.moves, self.law, low, high, apart)

    def middle(self, t: int, reward: Array, nominal: Array) -> Array:
        """Nothing: every answer is tried."""
        return nominal

    def rows(self, t: int) -> tuple[Indices, Array, Array]:
        """(S, k) possible successors, (S, A, k) least and greatest probabilities."""
        successors, entries = possible_successors(self.kernel, self.moves)
        ends = [
            spread(with_slip(self.kernel, float(slip)), successors, entries)
            for slip in (self.low[t], self.high[t])
        ]
        return successors, np.minimum(*ends), np.maximum(*ends)
