"""The model table `P` of toy-text environments: P[s][a] is a list of (probability, s', reward, end).

Every adapter reads tables by the same conventions:

- Two outcomes that lead to the same state are one entry of the kernel.
- A state that ends the episode is absorbing and pays nothing, whatever its own row says. If the same state is
  also entered without an end (a fall that ends CliffWalking leads to its start), the ends lead to one
  absorbing state of their own, numbered S.
- Where every way into a state pays the same (FrozenLake), the reward is one of the next state: a plan on a
  stale or estimated kernel expects it under that kernel. Otherwise (CliffWalking, where the start is reached
  on foot for -1 and by a fall for -100; Taxi) r_t(s, a) is the expectation under the true table of time t. A
  plan on a stale kernel then errs about where a step leads, but not about what it pays on average, and this
  holds for the times ahead as well. Sampled rollouts are paid that expectation: the same regret, less spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.model.checks import require_valid
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Array, Indices, constant
from replan.model.reward import Reward
from replan.model.world import World

ToyTextTable = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]


@dataclass(frozen=True)
class ModelTable:
    """A table as arrays, padded with outcomes of probability zero that stay in place."""

    probabilities: Array = field(repr=False)  # (S, A, k)
    successors: Indices = field(repr=False)  # (S, A, k)
    rewards: Array = field(repr=False)  # (S, A, k)
    ends: np.ndarray = field(repr=False)  # (S, A, k) bool
    listed: np.ndarray = field(repr=False)  # (S, A, k) bool; False where padded

    @classmethod
    def read(cls, table: ToyTextTable, *, states: int, actions: int) -> ModelTable:
        """Read nested lists; a row that is missing or malformed raises an `InputError` that names it."""
        rows = [[_row(table, s, a) for a in range(actions)] for s in range(states)]
        width = max(len(row) for of_state in rows for row in of_state)
        shape = (states, actions, width)
        successors = np.broadcast_to(np.arange(states)[:, None, None], shape).copy()
        probabilities, rewards = np.zeros(shape), np.zeros(shape)
        ends, listed = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        for s, of_state in enumerate(rows):
            for a, row in enumerate(of_state):
                for k, (probability, following, reward, end) in enumerate(row):
                    if not 0 <= following < states:
                        raise InputError(f"the table leads from s={s}, a={a} to {following}, not a state")
                    successors[s, a, k], ends[s, a, k], listed[s, a, k] = following, end, True
                    probabilities[s, a, k], rewards[s, a, k] = probability, reward
        return cls(probabilities, successors, rewards, ends, listed)

    @cached_property
    def terminal(self) -> np.ndarray:
        """(S,) bool, states that end the episode."""
        terminal = np.zeros(len(self.successors), dtype=bool)
        terminal[self.successors[self.ends]] = True
        return terminal

    def kernel(self) -> GeneralKernel:
        """Return the kernel, with absorbing terminal states."""
        states, actions, width = self.successors.shape
        successors = self.successors.reshape(states, actions * width).copy()
        probabilities = np.zeros((states, actions, actions, width))
        probabilities[:, np.arange(actions), np.arange(actions)] = self.probabilities
        probabilities = probabilities.reshape(states, actions, actions * width)
        successors[self.terminal] = np.flatnonzero(self.terminal)[:, None]
        probabilities[self.terminal] = 0.0
        probabilities[self.terminal, :, 0] = 1.0
        used = probabilities.any(axis=1)
        first = successors[np.arange(states), used.argmax(axis=1)]
        return GeneralKernel(np.where(used, successors, first[:, None]), probabilities)

    def possible_successors(self) -> Indices:
        """Return (S, A k) successors of each state, outcomes of probability zero included."""
        lists = np.where(self.listed, self.successors, self.successors[:, :, :1]).reshape(
            len(self.terminal), -1
        )
        lists[self.terminal] = np.flatnonzero(self.terminal)[:, None]
        return lists

    def arrival_rewards(self) -> Array | None:
        """Return (S,) rewards for entering each state, or None if the reward depends on the transition."""
        outcomes = self.listed & ~self.terminal[:, None, None]
        entered, paid = self.successors[outcomes], self.rewards[outcomes]
        low, high = np.full(len(self.terminal), np.inf), np.full(len(self.terminal), -np.inf)
        np.minimum.at(low, entered, paid)
        np.maximum.at(high, entered, paid)
        if (high > low).any():
            return None
        return np.where(np.isfinite(high), high, 0.0)

    def expected_rewards(self) -> Array:
        """Return (S, A) mean rewards of a step under this table; zero in terminal states."""
        mean = (self.probabilities * self.rewards).sum(axis=2)
        return np.where(self.terminal[:, None], 0.0, mean)

    def reachable(self, starts: Indices) -> np.ndarray:
        """Return (S,) bool, states reached from the starts through states that do not end the episode."""
        found = np.zeros(len(self.terminal), dtype=bool)
        waiting = [int(s) for s in starts]
        while waiting:
            s = waiting.pop()
            if not found[s]:
                found[s] = True
                if not self.terminal[s]:
                    waiting += [int(to) for to in np.unique(self.successors[s][self.listed[s]])]
        return found

    def with_ends_apart(self, starts: Indices) -> ModelTable:
        """Return the table with a state S for ends in states that are also entered without an end."""
        from_here = self.reachable(starts) & ~self.terminal
        going_on = self.successors[self.listed & ~self.ends & from_here[:, None, None]]
        both = np.zeros(len(self.terminal), dtype=bool)
        both[starts] = self.terminal[starts]
        both[going_on] = self.terminal[going_on]
        if not both.any():
            return self
        over = len(self.terminal)
        successors = np.where(self.ends & both[self.successors], over, self.successors)
        last = np.full_like(successors[:1], over)
        probabilities, ends = np.zeros(last.shape), np.zeros(last.shape, dtype=bool)
        probabilities[:, :, 0] = 1.0
        return ModelTable(
            np.concatenate([self.probabilities, probabilities]),
            np.concatenate([successors, last]),
            np.concatenate([self.rewards, np.zeros(last.shape)]),
            np.concatenate([self.ends, ends]),
            np.concatenate([self.listed, ends]),
        )


def world_of_tables(
    tables: Sequence[ModelTable], *, horizon: int, start: int | None, start_probabilities: Array
) -> World:
    """Return the world of one table, or of one table for each time.

    The start defaults to the likeliest one (the lowest among equals); dynamic regret is taken over all starts
    with positive probability.
    """
    if len(tables) not in (1, horizon):
        raise InputError(f"{len(tables)} tables do not fit a horizon of {horizon}: give 1 or {horizon}")
    starts = np.flatnonzero(start_probabilities > 0)
    tables = [table.with_ends_apart(starts) for table in tables]
    if any(not np.array_equal(table.terminal, tables[0].terminal) for table in tables):
        raise InputError("the states that end an episode change with time")
    kernels, rewards = [table.kernel() for table in tables], _rewards(tables)
    world = World(
        horizon=horizon,
        kernel=constant(kernels[0]) if len(tables) == 1 else kernels.__getitem__,
        reward=constant(rewards[0]) if len(rewards) == 1 else rewards.__getitem__,
        start=int(np.argmax(start_probabilities)) if start is None else start,
        start_states=starts,
        declared_successors=np.concatenate([table.possible_successors() for table in tables], axis=1),
    )
    return require_valid(world)


def _rewards(tables: Sequence[ModelTable]) -> list[Reward]:
    """Return one reward for all times where entering a state always pays the same, else one a table."""
    arrival = tables[0].arrival_rewards()
    if arrival is not None and all(_same(table.arrival_rewards(), arrival) for table in tables[1:]):
        # A terminal state leads to itself and pays nothing: what arriving there pays is taken back.
        stays = np.where(tables[0].terminal, -arrival, 0.0)
        return [Reward(np.repeat(stays[:, None], tables[0].rewards.shape[1], axis=1), arrival)]
    return [Reward(state_action=table.expected_rewards()) for table in tables]


def _same(one: Array | None, other: Array) -> bool:
    return one is not None and np.array_equal(one, other)


def _row(table: ToyTextTable, s: int, a: int) -> list[Any]:
    try:
        row = list(table[s][a])
    except (KeyError, IndexError, TypeError):
        raise InputError(f"the table has no row for s={s}, a={a}") from None
    if not row or any(len(outcome) != 4 for outcome in row):
        raise InputError(f"the row of s={s}, a={a} is not a list of (probability, s', reward, end)")
    return row
