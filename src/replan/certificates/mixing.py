"""The overlap coefficient eta of two policies (the paper's assumption on mixing); alpha = 1 - eta.

A policy sequence is a function of time to (S,) actions. After the horizon kernel and policies are held.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from replan import _loops
from replan.model.kernel import Array, Indices, Kernel
from replan.model.world import World

Policies = Callable[[int], Indices]  # t -> (S,) action of each state


def policy_rows(kernel: Kernel, policy: Indices) -> tuple[Indices, Array]:
    """(S, k) successors and (S, k) probabilities under a policy."""
    general = kernel.general()
    return general.successors, general.probabilities[np.arange(general.states), policy]


class Chains:
    """The m-step transition matrices of policies in one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._general: dict[int, Kernel] = {}

    def kernel(self, t: int) -> Kernel:
        """P_t, that of the last step after the horizon."""
        t = min(t, self.world.horizon - 1)
        if t not in self._general:
            self._general[t] = self.world.kernel(t).general()
        return self._general[t]

    def extend(self, matrix: Array, t: int, policy: Indices) -> Array:
        """(S, S) the matrix with one more step, at time t."""
        return _loops.general.chain_step(*policy_rows(self.kernel(t), policy), matrix)

    def matrix(self, begin: int, steps: int, policies: Policies) -> Array:
        """(S, S) P^pi over [begin, begin + steps)."""
        matrix = np.eye(self.world.states)
        for t in range(begin, begin + steps):
            matrix = self.extend(matrix, t, policies(t))
        return matrix


def overlap(first: Array, second: Array, *, at_most: float = 1.0) -> float:
    """Least mass that a row of the first and a row of the second matrix share, or `at_most` if it is more."""
    order = np.argsort(-first.sum(axis=0))
    return _loops.general.least_overlap(first[:, order], second[:, order], at_most)


def overlap_coefficient(world: World, first: Policies, second: Policies, *, t: int, m: int) -> float:
    """eta_t of two policies, the paper's definition of the overlap coefficient."""
    chains = Chains(world)
    return overlap(chains.matrix(t, m, first), chains.matrix(t, m, second))


def overlap_profile(chains: Chains, first: Policies, second: Policies, *, longest: int) -> Array:
    """(longest + 1,) for each m the least eta_t over t = 0..T-1; entry 0 is 0."""
    horizon, states = chains.world.horizon, chains.world.states
    found = np.zeros(longest + 1)
    mine = [np.eye(states) for _ in range(horizon)]
    theirs = [np.eye(states) for _ in range(horizon)]
    worst = 0  # the time that was worst at the last m is tried first: a zero there settles this m
    for m in range(1, longest + 1):
        for t in range(horizon):
            k = min(t + m - 1, horizon - 1)
            mine[t] = chains.extend(mine[t], k, first(k))
            theirs[t] = chains.extend(theirs[t], k, second(k))
        least = 1.0
        for t in [worst, *range(horizon)]:
            here = overlap(mine[t], theirs[t], at_most=least)
            if here < least:
                least, worst = here, t
            if least == 0:
                break
        found[m] = least
    return found
