"""Following a policy: the Markov chain of a robot that sees where it is and does as its plan says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from replan import _loops
from replan.model.kernel import Array, Indices, Kernel, in_bands
from replan.model.reward import Reward
from replan.model.slip import SlipKernel


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


def follow_action(kernel: Kernel, reward: Reward, action: int) -> FollowedStep:
    """Return the step of a kernel under one action, without the successors of the others."""
    step = follow(kernel, reward, np.full(kernel.states, action))
    used = step.probabilities != 0
    order = np.argsort(~used, axis=1, kind="stable")[:, : int(used.sum(axis=1).max())]
    successors = np.take_along_axis(step.successors, order, axis=1)
    return FollowedStep(successors, np.take_along_axis(step.probabilities, order, axis=1), step.reward)


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
