"""Values of a world that is known: optimal ones, and those of a policy that is followed.

`oracle` gives V*_t of the appendix's "Value Functions"; over a grid it makes several steps in one pass over
memory. `follow` is the Markov chain of a robot that sees where it is and does as its plan says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from replan import _loops
from replan.errors import require
from replan.model.kernel import Array, Indices, Kernel, in_bands
from replan.model.reward import Reward
from replan.model.sizes import require_memory
from replan.model.slip import NONE_CHOSEN, STEPS_PER_PASS, SlipKernel
from replan.model.world import World


@dataclass(frozen=True)
class Oracle:
    """Optimal values of a robot that knows all kernels and sees its state at every step."""

    world: World
    """The world that the values are of."""
    values: Array = field(repr=False)
    """(T + 1, S) V*_t."""

    def q_values(self, t: int) -> Array:
        """(S, A) Q*_t."""
        return self.world.reward(t).q_values(self.world.kernel(t), self.values[t + 1])

    def loss(self, t: int) -> Array:
        """(S, A) V*_t - Q*_t, the loss of each action."""
        return self.values[t][:, None] - self.q_values(t)

    @cached_property
    def losses(self) -> Array:
        """(T, S, A) the loss of each action at each time."""
        return np.stack([self.loss(t) for t in range(self.world.horizon)])


def oracle(world: World) -> Oracle:
    """Compute the optimal values of every time and state, with all kernels known.

    Parameters
    ----------
    world : World
        The world.

    Returns
    -------
    Oracle
        Values and best actions of every time and state.
    """
    require(World, world=world)
    require_oracle_memory(world)
    values = np.empty((world.horizon + 1, world.states))
    values[-1] = 0.0
    if (grid := swept_grid(world)) is not None:
        for begin, end in _passes(world.horizon):
            _sweep(grid, values[end], values[begin:end], begin=begin, end=end)
        return Oracle(world, values)
    for t in range(world.horizon - 1, -1, -1):
        world.reward(t).backup(world.kernel(t), values[t + 1], out=values[t])
    return Oracle(world, values)


def require_oracle_memory(world: World) -> int:
    """Raise `InputError` if the oracle's values would not fit into memory; return how many there are."""
    numbers = (world.horizon + 1) * world.states
    require_memory(numbers, "the oracle's value of every time and state")
    return numbers


def oracle_return(world: World) -> Array:
    """(S,) V*_0 without the values of later times, in the memory of two value functions."""
    values, spare = np.zeros(world.states), np.empty(world.states)
    if (grid := swept_grid(world)) is not None:
        for begin, end in _passes(world.horizon):
            _sweep(grid, values, spare, begin=begin, end=end)
            values, spare = spare, values
        return values
    for t in range(world.horizon - 1, -1, -1):
        values, spare = world.reward(t).backup(world.kernel(t), values, out=spare), values
    return values


@dataclass(frozen=True)
class GridOverTime:
    """A world that is one slippery grid, as arrays over time for compiled loops."""

    shape: tuple[int, int]
    """Rows and columns."""
    blocked: np.ndarray = field(repr=False)
    """(S,) or (1,) bool, as in `SlipKernel`."""
    slip: Array = field(repr=False)
    """(T, S) slip, or (T, 1) where it is the same everywhere."""
    law: Array = field(repr=False)
    """(T, A) slip law."""
    reward: Array = field(repr=False)
    """(T, S) reward of the next state, or (1, S) where it stays the same."""


def grid_over_time_of(world: World) -> GridOverTime | None:
    """Return the world as arrays, or None if more than slip, slip law and next-state reward changes in it."""
    kernels, rewards = [], []
    for t in range(world.horizon):
        kernel, reward = world.kernel(t), world.reward(t)
        if not isinstance(kernel, SlipKernel) or reward.state_action is not None:
            return None
        if kernels and not (kernel.same_moves(kernels[0]) and kernel.slip.size == kernels[0].slip.size):
            return None
        kernels.append(kernel)
        rewards.append(reward.next_state)
    same_reward = all(reward is rewards[0] for reward in rewards)
    return GridOverTime(
        kernels[0].shape,
        kernels[0].blocked,
        np.concatenate([kernel.slip for kernel in kernels]).reshape(world.horizon, -1),
        np.concatenate([kernel.law for kernel in kernels]).reshape(world.horizon, -1),
        np.stack(rewards[:1] if same_reward else rewards),
    )


def swept_grid(world: World) -> GridOverTime | None:
    """Return a world that is a grid with one slip per time and one reward, else None."""
    kernel = world.kernel(0)
    if not isinstance(kernel, SlipKernel) or kernel.slip.size > 1:
        return None
    grid = grid_over_time_of(world)
    return grid if grid is not None and len(grid.reward) == 1 else None


def _sweep(grid: GridOverTime, values: Array, out: Array, *, begin: int, end: int) -> None:
    """Write V*_begin to V*_{end-1} (or, where `out` has one row, V*_begin alone) from (S,) V*_end."""
    rows, columns = grid.shape
    in_bands(
        _loops.grid_passes.induction,
        rows,
        rows * columns,
        end - begin,
        grid.slip[begin:end],
        grid.law[begin:end],
        grid.blocked,
        values.reshape(grid.shape),
        grid.reward.reshape(grid.shape),
        0.0,
        out.reshape(-1, rows, columns),
        NONE_CHOSEN.reshape(0, columns),
    )


def _passes(horizon: int) -> Iterator[tuple[int, int]]:
    """Yield the times [begin, end) of each pass, from the last back to the first."""
    for end in range(horizon, 0, -STEPS_PER_PASS):
        yield max(end - STEPS_PER_PASS, 0), end


@dataclass(frozen=True, eq=False)
class FollowedStep:
    """One step of a kernel under a policy."""

    successors: Indices = field(repr=False)
    """(S, k) states to which the step can lead; a row may repeat one."""
    probabilities: Array = field(repr=False)
    """(S, k) probability of each."""
    reward: Array = field(repr=False)
    """(S,) expected reward of the step."""

    def backup(self, values: Array) -> Array:
        """(S,) or (S, C) expected reward of the step plus what the next state is worth."""
        return self._expect(values, self.reward)

    def expect(self, values: Array) -> Array:
        """(S,) or (S, C) expectation of numbers of the next state."""
        return self._expect(values, np.zeros(len(values)))

    def _expect(self, values: Array, reward: Array) -> Array:
        columns = np.ascontiguousarray(values.reshape(len(values), -1))
        out = np.empty_like(columns)
        lists = self.successors, self.probabilities, reward
        in_bands(_loops.general.follow, len(out), len(out), *lists, columns, out)
        return out.reshape(values.shape)

    def push(self, mass: Array) -> Array:
        """(S,) distribution one step later."""
        moved = (mass[:, None] * self.probabilities).ravel()
        return np.bincount(self.successors.ravel(), weights=moved, minlength=len(mass))


def follow(kernel: Kernel, reward: Reward, policy: Indices) -> FollowedStep:
    """Return the step of a kernel under (S,) actions."""
    states, gained = np.arange(kernel.states), np.zeros(kernel.states)
    if isinstance(kernel, SlipKernel):
        successors, probabilities = kernel.under(policy)
    else:
        lists = kernel.general()
        successors, probabilities = lists.successors, lists.probabilities[states, policy]
    if reward.next_state is not None:
        gained += np.einsum("sk,sk->s", probabilities, reward.next_state[successors])
    if reward.state_action is not None:
        gained += reward.state_action[states, policy]
    return FollowedStep(successors, probabilities, gained)


def policy_values(
    kernel_at: Callable[[int], Kernel],
    reward: Callable[[int], Reward],
    policy_at: Callable[[int], Indices],
    *,
    begin: int,
    end: int,
) -> Array:
    """(S,) expected reward of the steps `begin` to `end` - 1 of a robot that follows a policy.

    Steps of the same kernel, reward and policy, one after another, are worked out together.
    """
    values, last = np.zeros(kernel_at(begin).states), end
    while last > begin:
        kernel, reward_now, policy = parts = kernel_at(last - 1), reward(last - 1), policy_at(last - 1)
        first = last - 1
        while first > begin and _same((kernel_at(first - 1), reward(first - 1), policy_at(first - 1)), parts):
            first -= 1
        step = follow(kernel, reward_now, policy)
        if isinstance(kernel, SlipKernel):
            values = kernel.follow(policy, step.reward, values, last - first)
        else:
            for _ in range(last - first):
                values = step.backup(values)
        last = first
    return values


def _same(parts: tuple[object, ...], others: tuple[object, ...]) -> bool:
    return all(a is b for a, b in zip(parts, others, strict=True))
