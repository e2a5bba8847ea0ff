"""A declared family of kernels: the kernel is one parameter that drifts.

A bound on an entry's change is a bound on the parameter's: the entry that depends most on it changes by
`steepness`, 0.8 for one slip on an open grid with a uniform slip law. Time is joined by cells: the range of
the parameter at each time is cut into intervals, and an interval leads only to those that one step's drift
can reach. Within an interval every bound is linear or convex in the parameter, so its two ends suffice and
nothing is lost to rounding.

`MixtureRange` is any mixture of two kernels: the same parameter for all rows, rows coupled at both ends of
its range. `SlipRange` is one slip for the whole grid, with its own loops: a slip moves all states alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import Any, Self

import numpy as np

from replan import _loops
from replan.certificates.premises import (
    CONTRADICTION_TOLERANCE,
    KernelEstimate,
    NoStructure,
    Premises,
    possible_successors,
    spread,
)
from replan.model.kernel import Array, Indices
from replan.model.reach import Reach
from replan.model.slip import SlipKernel

NARROW = 1e-12  # ranges of the parameter below this are one point


class ParameterRange:
    """An `Uncertainty` over the parameter of a family: intervals of it by time. Base of the families.

    `near` is what is known of the part of the world whose rows are needed; the parameter is the whole's.
    """

    contradiction: str | None = None

    def __init__(
        self, known: Premises, *, both_ends: bool = True, cells: int = 1, near: Premises | None = None
    ) -> None:
        self.parameters = known.parameters()
        self.family = known.required_family
        self.known, self.horizon = known, len(known.drift_bounds) + 1
        self.steepness = self.family.steepness
        self.low, self.high = np.zeros(self.horizon), np.ones(self.horizon)
        for t in range(self.horizon):
            self._check(t, *self._intersection(t, known.estimates))  # whichever of them are used below
            ends = self._intersection(t, known.about(t, both_ends=both_ends))
            self.low[t], self.high[t] = min(ends), max(ends)
        self._edges = [self._cut(t, cells) for t in range(self.horizon)]
        rows = (near or known).required_family
        first, last = rows.first, rows.last
        both = np.concatenate([first.general().successors, last.general().successors], axis=1)
        self.successors, entries = possible_successors(first, both)
        self._tables = tuple(spread(kernel, self.successors, entries) for kernel in (first, last))
        self.counts = (first.states,) * (self.horizon + 1)

    def within(self, nested: Reach) -> Self:
        """Return the set restricted to a subset of states."""
        part = copy(self)
        part.counts, part.successors = nested.counts, nested.successors(self.successors)
        part._tables = tuple(table[nested.states] for table in self._tables)
        return part

    def table(self, parameter: float) -> Array:
        """(S, A, k) the probabilities of a member over the possible successors."""
        first, last = self._tables
        return (1 - parameter) * first + parameter * last

    def _intersection(self, t: int, estimates: Sequence[KernelEstimate]) -> tuple[float, float]:
        low, high = 0.0, 1.0
        for estimate in estimates:
            at = self.parameters[estimate.time]
            reach = self._reach(self.known.drift(estimate.time, t))
            if estimate.radius is not None:
                tells = self.steepness > 0
                reach += float((estimate.radius[tells] / self.steepness[tells]).min(initial=1.0))
            low, high = max(low, at - reach), min(high, at + reach)
        return low, high

    def _reach(self, drift: float) -> float:
        """Return the greatest change of the parameter that changes no entry by more than `drift`."""
        steepest = self.steepness.max()
        return drift / steepest if steepest > 0 else 0.0

    def _check(self, t: int, low: float, high: float) -> None:
        excess = low - high
        if self.contradiction is None and excess > CONTRADICTION_TOLERANCE:
            self.contradiction = (
                f"the parameters estimated around t={t} differ by {excess:.3g} more than the drift bounds "
                "allow: the bounds are too small"
            )

    def _cut(self, t: int, cells: int) -> Array:
        wide = self.high[t] - self.low[t] > NARROW
        return np.linspace(self.low[t], self.high[t], (cells if wide else 1) + 1)

    def ends(self, t: int, cell: int) -> Array:
        """(2,) the least and the greatest parameter of a cell."""
        return self._edges[t][cell : cell + 2]

    @property
    def actions(self) -> int:
        """Number of actions A."""
        return self.family.first.actions

    def cells(self, t: int) -> int:
        """Return the number of intervals at time t."""
        return len(self._edges[t]) - 1

    def following(self, t: int, cell: int) -> slice:
        """Return the intervals of t + 1 that one step of drift can reach."""
        low, high = self.ends(t, cell)
        drift = self._reach(self.known.drift_bounds[t]) + NARROW
        edges = self._edges[t + 1]
        first = int(np.clip(np.searchsorted(edges[1:], low - drift), 0, len(edges) - 2))
        last = int(
            np.clip(np.searchsorted(edges[:-1], high + drift, side="right"), first + 1, len(edges) - 1)
        )
        return slice(first, last)

    @property
    def key(self) -> bytes:
        """Return a key that differs between the sets of kernels that `parts` makes."""
        return self.low.tobytes() + self.high.tobytes()

    def parts(self, t: int, number: int) -> list[Self]:
        """Return the parts of the set in which the parameter at time t lies in one of `number` intervals."""
        if number == 1:
            return [self]
        wide = self.high[t] - self.low[t] > NARROW
        edges = np.linspace(self.low[t], self.high[t], (number if wide else 1) + 1)
        return [self._narrowed(t, low, high) for low, high in pairwise(edges)]

    def _narrowed(self, t: int, low: float, high: float) -> Self:
        reach = np.array([self._reach(self.known.drift(t, u)) for u in range(self.horizon)])
        return self._within(low - reach, high + reach)

    def _within(self, low: Array, high: Array) -> Self:
        part = copy(self)
        part.low = np.maximum(self.low, low)
        part.high = np.maximum(np.minimum(self.high, high), part.low)
        part._edges = [np.array(ends) for ends in zip(part.low, part.high, strict=True)]
        return part

    def joined(self, other: Any, t: int) -> Self | None:
        """Return the intersection of two sets; None if it is empty at time t."""
        low, high = max(self.low[t], other.low[t]), min(self.high[t], other.high[t])
        if low > high + NARROW:
            return None
        return self if other is self else self._within(other.low, other.high)

    @property
    def width(self) -> str:
        """Return a sentence on the width of the remaining interval."""
        return f"the kernel's parameter may lie between {self.low.min():.3g} and {self.high.max():.3g}"

    def plain(self, cost: Array) -> Array:
        """(2, S, A) the values at both ends of the interval."""
        return np.ascontiguousarray(np.broadcast_to(cost, (2, *cost.shape)))

    def middle(self, t: int, reward: Array, nominal: Array) -> Array:
        """Return `nominal`: every answer is tried."""
        return nominal[: self.counts[t]]

    def rows(self, t: int) -> tuple[Indices, Array, Array]:
        """(S, k) possible successors, (S, A, k) least and greatest probabilities."""
        count = self.counts[t]
        ends = [self.table(parameter)[:count] for parameter in (self.low[t], self.high[t])]
        return self.successors[:count], np.minimum(*ends), np.maximum(*ends)


class MixtureRange(ParameterRange):
    """An `Uncertainty` whose kernels are one member of a family per time."""

    def __init__(
        self, known: Premises, *, both_ends: bool = True, cells: int = 1, near: Premises | None = None
    ) -> None:
        super().__init__(known, both_ends=both_ends, cells=cells, near=near)
        both = np.concatenate(self._tables, axis=2)
        kinds = np.unique(both.reshape(-1, both.shape[2]), axis=0, return_inverse=True)[1].reshape(-1)
        self._kinds = kinds.reshape(both.shape[:2])  # (S, A) rows with the same number are equal

    def within(self, nested: Reach) -> Self:
        """Return the set restricted to a subset of states."""
        part = super().within(nested)
        part._kinds = self._kinds[nested.states]
        return part

    def tables(self, t: int, cell: int) -> Array:
        """(2, S, A, k) the members at the ends of a cell."""
        return np.stack([self.table(parameter)[: self.counts[t]] for parameter in self.ends(t, cell)])

    def best(self, t: int, cell: int, values: Array) -> Array:
        """(S, A) the greatest expectation of (S,) values of the next state."""
        return np.einsum("vsak,sk->vsa", self.tables(t, cell), values[self.successors[: self.counts[t]]]).max(
            axis=0
        )

    def step(self, t: int, cell: int, cost: Array, actions: Indices, ahead: Array, where: Array) -> Array:
        """(X, S) greatest cost[v, s, a] + E[ahead[x]] over the two ends."""
        return _loops.parameter_range.mixture_step(
            self.successors[: self.counts[t]], self.tables(t, cell), cost, actions, ahead, where
        )

    def advantages(self, t: int, cell: int, reward: Array, apart: Array) -> Array:
        """(2, S, A, A) a bound on Q_t(s, b) - Q_t(s, a) at the two ends."""
        successors = self.successors[: self.counts[t]]
        return _loops.parameter_range.mixture_advantages(successors, self.tables(t, cell), reward, apart)

    def pairs(self, t: int, cell: int, reward: Array, apart: Array, nominal: Array) -> Array:
        """(S, S) a bound on V_t(s) - V_t(s'), with the same parameter in both states."""
        kinds = np.unique(self._kinds[: self.counts[t]], return_inverse=True)[1].reshape(-1)
        rows = np.argsort(kinds, kind="stable")  # (S A,) rows of one kind after the other
        begins = np.concatenate([[0], np.cumsum(np.bincount(kinds))])  # where each kind begins
        return _loops.parameter_range.mixture_pairs(
            self.successors[: self.counts[t]], self.tables(t, cell), rows, begins, reward, apart
        )


class SlipRange(ParameterRange):
    """An `Uncertainty` whose kernels are one slip per time, within its drift of every estimate."""

    def __init__(
        self, known: Premises, *, both_ends: bool = True, cells: int = 1, near: Premises | None = None
    ) -> None:
        super().__init__(known, both_ends=both_ends, cells=cells, near=near)
        grid = (near or known).required_family.first
        if not (isinstance(grid, SlipKernel) and self.family.is_one_slip):
            raise NoStructure("the structure cannot be used: it is not one slip for a whole grid")
        self.moves, self.law = grid.destinations(), grid.law

    def within(self, nested: Reach) -> Self:
        """Return the set restricted to a subset of states."""
        part = super().within(nested)
        part.moves = nested.successors(self.moves)
        return part

    def best(self, t: int, cell: int, values: Array) -> Array:
        """(S, A) the greatest expectation of (S,) values of the next state."""
        made = values[self.moves[: self.counts[t]]]
        slipped = (made @ self.law)[:, None]
        return np.max([(1 - slip) * made + slip * slipped for slip in self.ends(t, cell)], axis=0)

    def step(self, t: int, cell: int, cost: Array, actions: Indices, ahead: Array, where: Array) -> Array:
        """(X, S) greatest cost[v, s, a] + E[ahead[x]] over the two ends."""
        return _loops.parameter_range.slip_step(
            self.moves[: self.counts[t]], self.law, self.ends(t, cell), cost, actions, ahead, where
        )

    def advantages(self, t: int, cell: int, reward: Array, apart: Array) -> Array:
        """(2, S, A, A) a bound on Q_t(s, b) - Q_t(s, a) at the two ends: slips lead both alike."""
        moves = self.moves[: self.counts[t]]
        return _loops.parameter_range.slip_advantages(moves, self.ends(t, cell), reward, apart)

    def pairs(self, t: int, cell: int, reward: Array, apart: Array, nominal: Array) -> Array:
        """(S, S) a bound on V_t(s) - V_t(s'), with the same slip in both states."""
        grid = self.moves[: self.counts[t]], self.law, *self.ends(t, cell)
        if reward.any():
            return _loops.parameter_range.slip_pairs_with_reward(*grid, reward, apart)
        return _loops.parameter_range.slip_pairs(*grid, apart)
