"""The interface of a set of kernels that what is known leaves possible.

`RowBoxes` is an interval for every entry of every row; `SlipRange` is one slip for the whole grid. Both may
split what is possible at one time into cells, and say which cells of the next time a cell can lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from replan.model.kernel import Array, Indices
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
