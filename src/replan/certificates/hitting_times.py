"""The diameter D of a world, by its definition: the longest expected time to the moving best state.

The target at time t is the state with the greatest V*_t; after the horizon kernel and target are held. One
policy in absolute time is best for every starting time at once, so backward induction gives the definition's
value.
"""

from __future__ import annotations

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, Kernel
from replan.planning.backward_induction import Oracle

SWEEPS, MOST_TRIES = 32, 10_000


def diameter(best: Oracle) -> float:
    """D; infinite where some state cannot reach the target surely."""
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
    """(S,) expected times of the policy that looks best; None where it may never arrive."""
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
