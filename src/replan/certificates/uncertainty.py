"""The interface of a set of kernels that what is known leaves possible, and boxes of kernels.

`RowBoxes` has an interval for every entry of every row: within its drift of every estimate, each row a
distribution. Rows are free of each other and of time ("rectangular"), so each inner problem is one row:
sorted filling. `parameter_range.py` has the sets of declared families. All may split what is possible at one
time into cells, and say which cells of the next time a cell can lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from replan import _loops
from replan.certificates.premises import CONTRADICTION_TOLERANCE, KernelEstimate, Premises, spread
from replan.model.kernel import Array, Indices
from replan.model.reach import Reach
from replan.model.reward import Reward


class Uncertainty(Protocol):
    """All kernels P_0..P_{T-1} that are possible. V is the number of extreme kernels that share one cost.

    Arrays of a time t have counts[t] states, those of what follows counts[t + 1].
    """

    contradiction: str | None  # why no kernel at all is possible
    horizon: int  # T
    counts: tuple[int, ...]  # (T + 1,) states S at each time; states of a time are the first of the next's
    successors: Indices  # (N, k) where a step can lead

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

    def advantages(self, t: int, cell: int, reward: Array, apart: Array) -> Array:
        """(V, S, A, A) a bound on Q_t(s, b) - Q_t(s, a), b first, that holds for every possible world.

        `apart` (S, S) bounds the difference of what follows in two next states, `reward` (S, A) is of the
        action.
        """
        ...

    def pairs(self, t: int, cell: int, reward: Array, apart: Array, nominal: Array) -> Array:
        """(S, S) a bound on V_t(s) - V_t(s'); `nominal` (S,) guesses what follows, to choose answers by."""
        ...

    def middle(self, t: int, reward: Array, nominal: Array) -> Array:
        """(S,) V_t under a kernel in the middle, from a guess at what follows."""
        ...

    def rows(self, t: int) -> tuple[Indices, Array, Array]:
        """(S, k) possible successors, (S, A, k) least and greatest probabilities."""
        ...


def action_reward(uncertain: Uncertainty, reward: Reward, t: int) -> Array:
    """(S, A) the part of the reward of time t that is not of the next state."""
    none = np.zeros((uncertain.counts[t], uncertain.actions))
    return none if reward.state_action is None else reward.state_action


def losses(uncertain: Uncertainty, reward: Callable[[int], Reward]) -> list[list[Array]]:
    """For every t and cell, (V, S, A) a bound on V*_t(s) - Q*_t(s, a) that holds for every possible world."""
    return [*losses_backwards(uncertain, reward)][::-1]


def losses_backwards(uncertain: Uncertainty, reward: Callable[[int], Reward]) -> Iterator[list[Array]]:
    """The items of `losses`, the last one first.

    `apart` bounds V*_t(s) - V*_t(s') for all pairs of states, by backward induction: differences are known
    far better than levels.
    """
    states, horizon = uncertain.counts[-1], uncertain.horizon
    apart, nominal = np.zeros((1, states, states)), np.zeros(states)
    for t in range(horizon - 1, -1, -1):
        arrival, of_action = reward(t).next_state, action_reward(uncertain, reward(t), t)
        if arrival is not None:
            apart += arrival[:, None] - arrival[None, :]
            nominal = nominal + arrival
        here, pairs = [], np.empty((uncertain.cells(t), uncertain.counts[t], uncertain.counts[t]))
        for cell in range(uncertain.cells(t)):
            follow = apart[uncertain.following(t, cell)] if t + 1 < horizon else apart
            ahead = follow[0] if len(follow) == 1 else follow.max(axis=0)
            here.append(np.ascontiguousarray(uncertain.advantages(t, cell, of_action, ahead).max(axis=2)))
            pairs[cell] = uncertain.pairs(t, cell, of_action, ahead, nominal)
        yield here
        apart, nominal = pairs, uncertain.middle(t, of_action, nominal)


class RowBoxes:
    """An `Uncertainty` with one cell at every time."""

    successors: Indices  # (S, k) where a step can lead
    entries: Array  # (S, k) 1, or 0 for padding
    contradiction: str | None = None

    def __init__(self, known: Premises, *, both_ends: bool = True) -> None:
        self.known, self.both_ends = known, both_ends
        self.horizon = len(known.drift_bounds) + 1
        self.successors, self.entries = known.successors()
        self.counts = (len(self.successors),) * (self.horizon + 1)
        self._spread = {e.time: spread(e.kernel, self.successors, self.entries) for e in known.estimates}
        exact = np.zeros((len(self.successors), 1))
        self._radius = {
            e.time: (exact if e.radius is None else e.radius)[:, :, None] for e in known.estimates
        }  # (S, A or 1, 1)
        self._bounds = lru_cache(maxsize=None)(self._find_bounds)
        for t in range(self.horizon):
            self.bounds(t)

    def within(self, nested: Reach) -> RowBoxes:
        """Return the set restricted to a subset of states."""
        part = copy(self)
        part.counts, part.successors = nested.counts, nested.successors(self.successors)
        part.entries = self.entries[nested.states]
        part._spread = {time: table[nested.states] for time, table in self._spread.items()}
        part._radius = {time: radius[nested.states] for time, radius in self._radius.items()}
        part._bounds = lru_cache(maxsize=None)(part._find_bounds)
        return part

    def bounds(self, t: int) -> tuple[Array, Array]:
        """(S, A, k) the least and the greatest probability of each entry of P_t."""
        return self._bounds(t)

    def _find_bounds(self, t: int) -> tuple[Array, Array]:
        lower, upper = self._intersection(t, self.known.estimates)
        self._check(t, lower, upper)  # whichever of the estimates are used below
        if not self.both_ends:
            lower, upper = self._intersection(t, self.known.about(t, both_ends=False))
        return lower, np.maximum(lower, upper)

    def _intersection(self, t: int, estimates: Sequence[KernelEstimate]) -> tuple[Array, Array]:
        count = self.counts[t]
        entries = self.entries[:count, None, :]
        lower = np.zeros((count, *next(iter(self._spread.values())).shape[1:]))
        upper = lower + entries
        for estimate in estimates:
            reach = self.known.drift(estimate.time, t) + self._radius[estimate.time][:count]
            middle = self._spread[estimate.time][:count]
            lower = np.maximum(lower, middle - reach)
            upper = np.minimum(upper, (middle + reach) * entries)
        return lower, upper

    def _check(self, t: int, lower: Array, upper: Array) -> None:
        excess = np.maximum((lower - upper).max(axis=2), np.abs(np.clip(1, lower.sum(2), upper.sum(2)) - 1))
        if self.contradiction is None and excess.max() > CONTRADICTION_TOLERANCE:
            s, a = np.unravel_index(excess.argmax(), excess.shape)
            self.contradiction = (
                f"the estimates around t={t} differ by {excess.max():.3g} more at s={s}, a={a} "
                "than the drift bounds allow: the bounds are too small"
            )

    key = b""  # `parts` makes no other set
    width = "no family of kernels is declared or used, so every row of the kernel may drift by itself"

    def parts(self, t: int, number: int) -> list[RowBoxes]:
        """The set as it is: rows are free of each other."""
        return [self]

    def joined(self, other: Any, t: int) -> RowBoxes:
        """The set as it is."""
        return self

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
        return _loops.certificates.best_rows(*self.rows(t), values)

    def step(self, t: int, cell: int, cost: Array, actions: Indices, ahead: Array, where: Array) -> Array:
        """(X, S) greatest cost[0, s, a] + E[ahead[x]]."""
        return _loops.certificates.row_step(*self.rows(t), cost[0], actions, ahead, where)

    def plain(self, cost: Array) -> Array:
        """(1, S, A) the same."""
        return np.ascontiguousarray(cost[None])

    def centre(self, t: int) -> Array:
        """(S, A, k) a distribution between the bounds."""
        lower, upper = self.bounds(t)
        room = upper - lower
        share = (1 - lower.sum(axis=2)) / np.maximum(room.sum(axis=2), 1e-300)
        return lower + np.clip(share, 0, 1)[:, :, None] * room

    def advantages(self, t: int, cell: int, reward: Array, apart: Array) -> Array:
        """(1, S, A, A) a bound on Q_t(s, b) - Q_t(s, a): rows coupled at their centres, then shifted."""
        successors, centre, shifts = self._shifts(t, apart)
        return _loops.certificates.row_advantages(successors, centre, shifts, reward, apart)

    def pairs(self, t: int, cell: int, reward: Array, apart: Array, nominal: Array) -> Array:
        """(S, S) a bound on V_t(s) - V_t(s'), answered in s' by the action that is best in the middle."""
        successors, centre, shifts = self._shifts(t, apart)
        answer = self._middle_values(t, reward, nominal).argmax(axis=1)
        return _loops.certificates.row_pairs(successors, centre, shifts, reward, answer, apart)

    def middle(self, t: int, reward: Array, nominal: Array) -> Array:
        """(S,) V_t under the centres."""
        return self._middle_values(t, reward, nominal).max(axis=1)

    def rows(self, t: int) -> tuple[Indices, Array, Array]:
        """(S, k) possible successors, (S, A, k) least and greatest probabilities."""
        return self.successors[: self.counts[t]], *self.bounds(t)

    def _shifts(self, t: int, apart: Array) -> tuple[Indices, Array, Array]:
        """(S, k) possible successors, (S, A, k) centres and (2, S, A) how far rows shift from them."""
        (successors, lower, upper), centre = self.rows(t), self.centre(t)
        return successors, centre, _loops.certificates.row_shifts(successors, lower, centre, upper, apart)

    def _middle_values(self, t: int, reward: Array, nominal: Array) -> Array:
        return reward + np.einsum("sak,sk->sa", self.centre(t), nominal[self.rows(t)[0]])
