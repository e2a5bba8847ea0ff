"""Mixtures of two kernels: the same parameter for all rows, rows coupled at both ends of its range."""

from __future__ import annotations

from typing import Self

import numpy as np

from replan import _loops
from replan.certificates.knowledge import Known
from replan.certificates.parameter_range import ParameterRange
from replan.model.kernel import Array, Indices
from replan.model.reach import Reach


class MixtureRange(ParameterRange):
    """An `Uncertainty` whose kernels are one member of a family per time."""

    def __init__(
        self, known: Known, *, both_ends: bool = True, cells: int = 1, near: Known | None = None
    ) -> None:
        super().__init__(known, both_ends=both_ends, cells=cells, near=near)
        both = np.concatenate(self._tables, axis=2)
        kinds = np.unique(both.reshape(-1, both.shape[2]), axis=0, return_inverse=True)[1].reshape(-1)
        self._kinds = kinds.reshape(both.shape[:2])  # (S, A) rows with the same number are equal

    def within(self, nested: Reach) -> Self:
        """Return the set for some of the states alone."""
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

    def middle(self, t: int, reward: Array, nominal: Array) -> Array:
        """Return `nominal`: every answer is tried."""
        return nominal[: self.counts[t]]
