"""One slip for the whole grid, with loops of its own: a slip moves all states alike."""

from __future__ import annotations

from typing import Self

import numpy as np

from replan import _loops
from replan.certificates.knowledge import Known, NoStructure
from replan.certificates.parameter_range import ParameterRange
from replan.model.kernel import Array, Indices
from replan.model.reach import Reach
from replan.model.slip import SlipKernel


class SlipRange(ParameterRange):
    """An `Uncertainty` whose kernels are one slip per time, within its drift of every estimate."""

    def __init__(
        self, known: Known, *, both_ends: bool = True, cells: int = 1, near: Known | None = None
    ) -> None:
        super().__init__(known, both_ends=both_ends, cells=cells, near=near)
        grid = (near or known).required_family.first
        if not (isinstance(grid, SlipKernel) and self.family.is_one_slip):
            raise NoStructure("the structure cannot be used: it is not one slip for a whole grid")
        self.moves, self.law = grid.destinations(), grid.law

    def within(self, nested: Reach) -> Self:
        """Return the set for some of the states alone."""
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

    def middle(self, t: int, reward: Array, nominal: Array) -> Array:
        """Nothing: every answer is tried."""
        return nominal[: self.counts[t]]
