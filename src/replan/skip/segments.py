"""Blind robots from an update on: their actions, state distribution and expected reward k steps later.

Nothing is seen until the next update, so all actions are settled by the state at the update. Where a robot
can be k steps later and what it has gained by then depend on nothing else: not on when the next update is,
nor on how many are left. One walk to the end of the horizon therefore serves every candidate for the next
update.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from replan import _loops
from replan.model.combination import stack_kernels
from replan.model.kernel import Array, Indices, Kernel, band_results
from replan.model.reward import Reward
from replan.planning.ties import TIE_TOLERANCE
from replan.skip.latency import DelayedPropagation
from replan.skip.propagation import BeliefPropagation, Propagation

SERIAL_BELOW = 500
"""Robots times steps; under this, handing out work costs more than it gives."""


@dataclass(frozen=True)
class WorldStack:
    """Kernels and rewards of the times first..T-1, stacked for compiled loops; equal ones are kept once."""

    horizon: int
    """T."""
    successors: Indices = field(repr=False)
    """(K, S, A, k) successors of each action in each distinct kernel."""
    probabilities: Array = field(repr=False)
    """(K, S, A, k) their probabilities."""
    kernel_of: Indices = field(repr=False)
    """(T,) index of the kernel of each time."""
    state_action: Array = field(repr=False)
    """(M, S, A) rewards of state and action, or (1, 0, 0) where no reward has this part."""
    next_state: Array = field(repr=False)
    """(M, S) rewards of the next state, or (1, 0) where no reward has this part."""
    reward_of: Indices = field(repr=False)
    """(T,) index of the reward of each time."""

    @property
    def states(self) -> int:
        """Number of states S."""
        return self.successors.shape[1]

    def kernel_lists(self, time: int) -> tuple[Indices, Array]:
        """(1, S, A, k) successors and probabilities of one time."""
        one = slice(self.kernel_of[time], self.kernel_of[time] + 1)
        return self.successors[one], self.probabilities[one]

    @property
    def rests_from(self) -> int:
        """First time from which on the kernel stays the same."""
        moving = np.flatnonzero(self.kernel_of != self.kernel_of[-1])
        return int(moving[-1]) + 1 if len(moving) else 0

    @property
    def constant_reward(self) -> bool:
        """Whether every time has the same reward."""
        return not self.reward_of.any()


def stack_world(
    kernel: Callable[[int], Kernel], reward: Callable[[int], Reward], *, first: int, horizon: int
) -> WorldStack:
    """Stack the kernels and rewards of a world, or of a forecast of it, from `first` on."""
    kernels, kernel_of = _distinct(kernel, first, horizon)
    rewards, reward_of = _distinct(reward, first, horizon)
    successors, probabilities = stack_kernels(kernels)
    states, actions = probabilities.shape[1:3]
    state_action = _stacked([one.state_action for one in rewards], (states, actions))
    next_state = _stacked([one.next_state for one in rewards], (states,))
    return WorldStack(horizon, successors, probabilities, kernel_of, state_action, next_state, reward_of)


@dataclass(frozen=True)
class Segments:
    """Robots that saw `states` at an update and nothing since, after k = 0..L steps."""

    states: Indices
    """(R,) states seen at the update."""
    gained: Array
    """(R, L + 1) expected reward of the first k steps."""
    nodes: Indices
    """(R, L + 1) the distribution of each row after k steps; rows of several segments can share them."""
    offsets: Indices
    """(n + 1,) where each distribution begins in the two below."""
    cells: np.ndarray
    """(N,) occupied states."""
    masses: Array
    """(N,) their probabilities."""


def walk_segments(
    along: WorldStack,
    actions: Indices,
    states: Indices,
    *,
    begin: int,
    keep: np.ndarray,
    tolerance: float,
) -> Segments:
    """Return the segments of robots that take (R, L) `actions` from an update at `begin` to the horizon.

    Distributions are kept for the numbers of steps in `keep` (L + 1,); masses below `tolerance` are dropped
    and the rest is scaled up.
    """

    def push(first: int, last: int) -> tuple[Array, ...]:
        return _loops.segments.push_rows(
            along.successors, along.probabilities, along.kernel_of, along.state_action, along.next_state,
            along.reward_of, begin, states[first:last], actions[first:last], keep, tolerance,
        )  # fmt: skip

    bands = band_results(push, len(states), serial=actions.size < SERIAL_BELOW)
    gained, *lists = zip(*bands, strict=True)
    nodes = np.arange(actions.size + len(states)).reshape(len(states), -1)
    return Segments(states, np.concatenate(gained), nodes, *join_lists(*lists))


def join_lists(
    offsets: Sequence[Indices], cells: Sequence[Indices], masses: Sequence[Array]
) -> tuple[Indices, Indices, Array]:
    """Return the offsets, cells and masses of several bands as those of one."""
    if len(offsets) == 1:
        return offsets[0], cells[0], masses[0]
    ends = np.cumsum([0, *(band[-1] for band in offsets)])
    joined = [band[:-1] + end for band, end in zip(offsets, ends, strict=False)]
    return np.concatenate([*joined, ends[-1:]]), np.concatenate(cells), np.concatenate(masses)


def _distinct(of_time: Callable, first: int, horizon: int) -> tuple[list, Indices]:
    """Return the distinct objects of the times first..T-1, and (T,) which of them each time has."""
    found, which = [], np.zeros(horizon, dtype=np.int64)
    for t in range(first, horizon):
        one = of_time(t)
        if not found or one is not found[-1]:
            found.append(one)
        which[t] = len(found) - 1
    return found, which


def _stacked(parts: list[Array | None], shape: tuple[int, ...]) -> Array:
    if all(part is None for part in parts):
        return np.zeros((1,) + (0,) * len(shape))
    return np.stack([np.zeros(shape) if part is None else part for part in parts])


def commands(
    propagation: Propagation, states: Indices, *, begin: int, steps: int, tolerance: float
) -> Indices:
    """(R, steps) the actions of robots that saw `states` at `begin`, and nothing since."""
    if isinstance(propagation, DelayedPropagation):
        meanwhile = min(propagation.arrival - begin, steps)
        given = commands(propagation.old, states, begin=begin, steps=meanwhile, tolerance=tolerance)
        if meanwhile == steps:
            return given
        return commands_through(
            propagation.new, propagation.kernels_before, states, given, begin=begin, steps=steps,
            tolerance=tolerance,
        )  # fmt: skip
    given = np.empty((len(states), 0), dtype=np.int64)
    return commands_through(propagation, (), states, given, begin=begin, steps=steps, tolerance=tolerance)


def commands_through(
    propagation: Propagation,
    kernels: Sequence[Kernel],
    states: Indices,
    given: Indices,
    *,
    begin: int,
    steps: int,
    tolerance: float,
) -> Indices:
    """(R, steps) actions of robots that take the (R, d) `given` ones first, and then act by a propagation.

    `kernels` (d,) are those with which the estimate is propagated through the given actions.
    """
    ahead = given.shape[1]
    if ahead >= steps:
        return given[:, :steps]
    if isinstance(propagation, BeliefPropagation):
        return _belief_commands(propagation, kernels, states, given, begin, steps, tolerance)
    estimate = propagation.begin(states)
    actions = np.empty((len(states), steps), dtype=np.int64)
    actions[:, :ahead] = given
    for k in range(ahead):
        estimate = kernels[k].most_likely_of(estimate, given[:, k])
    for k in range(ahead, steps):
        actions[:, k] = propagation.act(estimate, begin + k)
        estimate = propagation.advance(estimate, actions[:, k], begin + k)
    return actions


def _belief_commands(
    propagation: BeliefPropagation,
    kernels: Sequence[Kernel],
    states: Indices,
    given: Indices,
    begin: int,
    steps: int,
    tolerance: float,
) -> Indices:
    tables, ahead = propagation.tables, given.shape[1]
    rows = np.clip(np.arange(begin, begin + steps) - propagation.plan.time, 0, len(tables.q_values) - 1)
    successors, probabilities, before, of_row = _stacked_kernels(propagation, kernels[:ahead])
    kernel_of, given = np.concatenate([before, of_row[rows[ahead:]]]), np.ascontiguousarray(given)

    def choose(first: int, last: int) -> Indices:
        return _loops.segments.belief_commands(
            successors, probabilities, kernel_of, tables.q_values, tables.preference, rows, TIE_TOLERANCE,
            tolerance, states[first:last], given[first:last],
        )  # fmt: skip

    return np.concatenate(band_results(choose, len(states), serial=len(states) * steps < SERIAL_BELOW))


def _stacked_kernels(
    propagation: BeliefPropagation, before: Sequence[Kernel]
) -> tuple[Indices, Array, Indices, Indices]:
    """Return kernels (K, S, k), (K, S, A, k), (d,) those of the steps before the plan, (L,) of its rows."""
    tables, plan = propagation.tables, propagation.plan
    if all(kernel is propagation.kernel_at(plan.time) for kernel in before):
        first = np.full(len(before), tables.kernel_of[0])
        return tables.successors, tables.probabilities, first, tables.kernel_of
    kernels: list[Kernel] = []
    kernel_of = []
    for kernel in (*before, *(propagation.kernel_at(each.time) for each in (plan, *plan.later))):
        if not kernels or kernel is not kernels[-1]:
            kernels.append(kernel)
        kernel_of.append(len(kernels) - 1)
    of_all = np.array(kernel_of)
    return *stack_kernels(kernels), of_all[: len(before)], of_all[len(before) :]
