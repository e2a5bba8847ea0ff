"""Kernels in boxes: every entry of every row within its drift of every estimate, each row a distribution.

Rows are free of each other and of time ("rectangular"), so each inner problem is one row: sorted filling.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from replan.certify.knowledge import Known, possible_successors, spread
from replan.model.kernel import Array, Indices
from replan.model.reward import Reward

CONTRADICTION_TOLERANCE = 1e-9


class RowBoxes:
    """An `Uncertainty` with one cell at every time."""

    successors: Indices  # (S, k) where a step can lead
    entries: Array  # (S, k) 1, or 0 for padding
    contradiction: str | None = None

    def __init__(self, known: Known, *, possible=None, both_ends: bool = True) -> None:
        self.known, self.both_ends = known, both_ends
        self.horizon = len(known.drift_bounds) + 1
        self.successors, self.entries = possible_successors(known.estimates[0].kernel, possible)
        self._spread = {e.time: spread(e.kernel, self.successors, self.entries) for e in known.estimates}
        self._bounds = lru_cache(maxsize=None)(self._find_bounds)
        for t in range(self.horizon):
            self.bounds(t)

    def bounds(self, t: int) -> tuple[Array, Array]:
        """(S, A, k) the least and the greatest probability of each entry of P_t."""
        return self._bounds(t)

    def _find_bounds(self, t: int) -> tuple[Array, Array]:
        lower = np.zeros(next(iter(self._spread.values())).shape)
        upper = lower + self.entries[:, None, :]
        for estimate in self.known.about(t, both_ends=self.both_ends):
            reach = self.known.drift(estimate.time, t)
            if estimate.radius is not None:
                reach = reach + estimate.radius[:, :, None]
            lower = np.maximum(lower, self._spread[estimate.time] - reach)
            upper = np.minimum(upper, (self._spread[estimate.time] + reach) * self.entries[:, None, :])
        self._check(t, lower, upper)
        return lower, np.maximum(lower, upper)

    def _check(self, t: int, lower: Array, upper: Array) -> None:
        excess = np.maximum((lower - upper).max(axis=2), np.abs(np.clip(1, lower.sum(2), upper.sum(2)) - 1))
        if self.contradiction is None and excess.max() > CONTRADICTION_TOLERANCE:
            s, a = np.unravel_index(excess.argmax(), excess.shape)
            self.contradiction = (
                f"the estimates around t={t} differ by {excess.max():.3g} more at s={s}, a={a} "
                "than the drift bounds allow: the bounds are too small"
            )

    @property
    def actions(self) -> int:
        """Number of actions A."""
        return self.bounds(0)[0].shape[1]

    def cells(self, t: int) -> int:
        """One."""
        return 1

    def following(self, t: int, cell: int) -> slice:
        """The one of the next time."""
        return slice(0, 1)

    def best(self, t: int, cell: int, values: Array) -> Array:
        """(S, A) the greatest expectation of (S,) values of the next state."""
        from replan.certify import compiled

        return compiled.best_rows(self.successors, *self.bounds(t), values)

    def step(self, t: int, cell: int, cost: Array, actions: Indices, ahead: Array, where: Array) -> Array:
        """(X, S) greatest cost[0, s, a] + E[ahead[x]]."""
        from replan.certify import compiled

        return compiled.row_step(self.successors, *self.bounds(t), cost[0], actions, ahead, where)

    def plain(self, cost: Array) -> Array:
        """(1, S, A) the same."""
        return np.ascontiguousarray(cost[None])

    def centre(self, t: int) -> Array:
        """(S, A, k) a distribution between the bounds."""
        lower, upper = self.bounds(t)
        room = upper - lower
        share = (1 - lower.sum(axis=2)) / np.maximum(room.sum(axis=2), 1e-300)
        return lower + np.clip(share, 0, 1)[:, :, None] * room

    def losses(self, reward: Callable[[int], Reward]) -> list[list[Array]]:
        """For every t, (1, S, A) a bound on V*_t(s) - Q*_t(s, a).

        `apart` bounds V*_t(s) - V*_t(s') for all pairs: the two rows are coupled at their centres, and each
        may then shift within its box.
        """
        from replan.certify import compiled

        states = len(self.successors)
        apart, nominal = np.zeros((states, states)), np.zeros(states)
        found: list[list[Array]] = []
        for t in range(self.horizon - 1, -1, -1):
            step = reward(t)
            lower, upper = self.bounds(t)
            centre = self.centre(t)
            cost = np.zeros(lower.shape[:2]) if step.state_action is None else step.state_action
            if step.next_state is not None:
                apart = apart + step.next_state[:, None] - step.next_state[None, :]
                nominal = nominal + step.next_state
            values = cost + np.einsum("sak,sk->sa", centre, nominal[self.successors])
            shifts = compiled.row_shifts(self.successors, lower, centre, upper, apart)
            found.append([compiled.row_losses(self.successors, centre, shifts, cost, apart)[None]])
            apart = compiled.row_pairs(self.successors, centre, shifts, cost, values.argmax(axis=1), apart)
            nominal = values.max(axis=1)
        return found[::-1]
