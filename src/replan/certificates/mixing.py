"""Two quantities of the theorem: the overlap coefficient of two policies and the diameter of a world.

eta is that of the paper's assumption on mixing; alpha = 1 - eta. A policy sequence is a function of time to
(S,) actions. D is the longest expected time to the moving best state: the target at time t is the state with
the greatest V*_t. One policy in absolute time is best for every starting time at once, so backward induction
gives the definition's value. After the horizon kernel, policies and target are held.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from replan import _loops
from replan.errors import InputError
from replan.model.kernel import Array, Indices, Kernel
from replan.model.world import World
from replan.planning.optimal_values import Oracle

Policies = Callable[[int], Indices]  # t -> (S,) action of each state
SWEEPS, MOST_TRIES = 32, 10_000


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


def diameter(best: Oracle) -> float:
    """Return D; infinite if some state may never reach the target."""
    world = best.world
    targets = best.values[: world.horizon].argmax(axis=1)
    times = held_hitting_times(world.kernel(world.horizon - 1), int(targets[-1]))
    longest = float(times.max())
    for t in range(world.horizon - 1, -1, -1):
        target = targets[min(t + 1, world.horizon - 1)]
        times = hitting_step(world.kernel(t), times, int(target))
        longest = max(longest, float(times.max()))
    return longest


def hitting_step(kernel: Kernel, ahead: Array, target: int) -> Array:
    """(S,) least expected time to the target, from the times (S,) one step later."""
    return _times_by_action(kernel, ahead, target).min(axis=1)


def held_hitting_times(kernel: Kernel, target: int) -> Array:
    """(S,) least expected time to a fixed target under a fixed kernel.

    A few sweeps find a policy, its times follow from one linear system, and they are the least if no action
    improves on them.
    """
    times = np.where(surely_reached(kernel, target), 0.0, np.inf)
    for _ in range(MOST_TRIES):
        for _ in range(SWEEPS):
            times = hitting_step(kernel, times, target)
        found = _times_of_policy(kernel, times, target)
        if found is not None:
            better = hitting_step(kernel, found, target)
            if np.allclose(better, found, rtol=1e-9, atol=0):
                return found
    raise InputError("the diameter did not converge: some state reaches the best one only after very long")


def _times_by_action(kernel: Kernel, ahead: Array, target: int) -> Array:
    """(S, A) expected time to the target if the action is taken first."""
    still = ahead.copy()
    still[target] = 0.0
    if np.isfinite(still).all():
        return 1.0 + kernel.expect(still)
    never = kernel.expect((~np.isfinite(still)).astype(float))
    finite = kernel.expect(np.where(np.isfinite(still), still, 0.0))
    return 1.0 + np.where(never > 0, np.inf, finite)


def _times_of_policy(kernel: Kernel, times: Array, target: int) -> Array | None:
    """(S,) expected times of the policy that looks best; None if it may never arrive."""
    general = kernel.general()
    states = np.arange(general.states)
    policy = _times_by_action(kernel, times, target).argmin(axis=1)
    rows = np.zeros((general.states, general.states))
    np.add.at(rows, (states[:, None], general.successors), general.probabilities[states, policy])
    rows[:, target] = 0.0
    kept = np.flatnonzero(np.isfinite(times))
    found = np.full(general.states, np.inf)
    try:
        found[kept] = np.linalg.solve(np.eye(kept.size) - rows[np.ix_(kept, kept)], np.ones(kept.size))
    except np.linalg.LinAlgError:
        return None
    return found if (found >= 1 - 1e-9).all() else None


def surely_reached(kernel: Kernel, target: int) -> np.ndarray:
    """(S,) whether some policy reaches the target with probability one.

    The greatest set from which the target can be approached by actions that never leave the set.
    """
    inside = np.ones(kernel.states, dtype=bool)
    while True:
        safe = kernel.expect((~inside).astype(float)) <= 1e-12  # (S, A) never leaves
        reached = np.zeros(kernel.states, dtype=bool)
        reached[target] = True
        for _ in range(kernel.states):
            grown = reached | (safe & (kernel.expect(reached.astype(float)) > 1e-12)).any(axis=1)
            if (grown == reached).all():
                break
            reached = grown
        if (inside & reached == inside).all():
            return inside
        inside = inside & reached
