"""States in the order in which steps can lead to them from a start.

A bound of time t in a state, or in a pair of states, follows from bounds of time t + 1 in the states to which
one step can lead from there, and from no others. Bounds from the start therefore depend, at time t, only on
the states to which t steps can lead: computed on these alone they are those of the whole world.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from replan.model.kernel import Array, Indices
from replan.model.machine import NUMBER, SHARE, free_bytes, require_memory
from replan.model.reward import Reward

MOST_STATES = 1_000
"""States of a world beyond which a certificate is from the start alone, on what the robot can reach."""


@dataclass(frozen=True)
class NestedStates:
    """States that matter at each time; those of a time are the first of the next time's."""

    states: Indices = field(repr=False)  # (N,) of the world
    counts: tuple[int, ...] = field(repr=False)  # (T + 1,) the first counts[t] matter at t

    @classmethod
    def everything(cls, states: int, horizon: int) -> Self:
        """All states at all times, in their own order."""
        return cls(np.arange(states), (states,) * (horizon + 1))

    @classmethod
    def from_start(cls, successors: Indices, start: int, horizon: int) -> Self:
        """The states to which t steps can lead from the start; (S, k) successors may repeat a state."""
        seen = np.zeros(len(successors), dtype=bool)
        seen[start] = True
        rings = [np.array([start])]
        for _ in range(horizon):
            near = np.unique(successors[rings[-1]])
            rings.append(near[~seen[near]])
            seen[near] = True
        return cls(np.concatenate(rings), tuple(int(n) for n in np.cumsum([len(ring) for ring in rings])))

    def place(self, state: int) -> int:
        """Return the place of a state in the order."""
        return int(np.flatnonzero(self.states == state)[0])

    def relabel(self, lists: Indices) -> Indices:
        """(N, k) lists (S, k) of states by their places; a state that never matters becomes the row's own."""
        place = np.full(len(lists), -1)
        place[self.states] = np.arange(len(self.states))
        found = place[lists[self.states]]
        return np.where(found < 0, np.arange(len(found))[:, None], found)

    def reward(self, reward: Callable[[int], Reward]) -> Callable[[int], Reward]:
        """Return rewards of the states of time t and of next states of time t + 1."""

        def part(of: Array | None, count: int) -> Array | None:
            return None if of is None else of[self.states[:count]]

        def at(t: int) -> Reward:
            whole = reward(t)
            return Reward(
                part(whole.state_action, self.counts[t]), part(whole.next_state, self.counts[t + 1])
            )

        return at


def require_pairs(states: int, tables: float, purpose: str) -> None:
    """Raise `InputError` if so many tables of all pairs of states do not fit into memory."""
    fit = int((SHARE * free_bytes() / NUMBER / tables) ** 0.5)
    require_memory(
        tables * states**2, f"{purpose}, all pairs of {states} states,", f": about {fit} states would fit"
    )
