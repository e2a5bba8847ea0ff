"""The interface of a set of kernels that what is known leaves possible.

`RowBoxes` is an interval for every entry of every row; `SlipRange` is one slip for the whole grid. Both may
split what is possible at one time into cells, and say which cells of the next time a cell can lead to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from replan.model.kernel import Array, Indices
from replan.model.reward import Reward


class Uncertainty(Protocol):
    """All kernels P_0..P_{T-1} that are possible. V is the number of extreme kernels that share one cost."""

    contradiction: str | None  # why no kernel at all is possible

    @property
    def actions(self) -> int:
        """Number of actions A."""
        ...

    def cells(self, t: int) -> int:
        """The number of cells at time t."""
        ...

    def following(self, t: int, cell: int) -> slice:
        """The cells of t + 1 that can follow."""
        ...

    def best(self, t: int, cell: int, values: Array) -> Array:
        """(S, A) the greatest expectation of (S,) values of the next state."""
        ...

    def step(self, t: int, cell: int, cost: Array, actions: Indices, ahead: Array, where: Array) -> Array:
        """(X, S) greatest cost[v, s, a] + E[ahead[x]] with a = actions[x], at the (X, S) places marked."""
        ...

    def plain(self, cost: Array) -> Array:
        """(S, A) a cost that is the same for all kernels -> (V, S, A)."""
        ...

    def losses(self, reward: Callable[[int], Reward]) -> list[list[Array]]:
        """For every t and cell, (V, S, A) a bound on V*_t(s) - Q*_t(s, a) that holds for every possible world."""
        ...
