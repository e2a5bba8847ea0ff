"""The loops behind `replan.skip.segments`: distributions as lists of occupied states."""

import numpy as np

from replan._loops.compiler import jit


@jit
def _push(successors, probabilities, action, mass, here, count, ahead, there):
    """Move the `count` masses at `here` to `ahead` at `there`; return how many places those are."""
    width = successors.shape[1]
    found = 0
    for i in range(count):
        s = here[i]
        moved = mass[s]
        mass[s] = 0.0
        for k in range(width):
            gain = moved * probabilities[s, action, k]
            if gain > 0.0:
                to = successors[s, k]
                if ahead[to] == 0.0:
                    there[found] = to
                    found += 1
                ahead[to] += gain
    return found


@jit
def _prune(tolerance, mass, here, count):
    """Drop masses below the tolerance and scale up the rest; return how many stay and the mass that went."""
    dropped, largest = 0.0, 0.0
    for i in range(count):
        largest = max(largest, mass[here[i]])
        if mass[here[i]] < tolerance:
            dropped += mass[here[i]]
    if dropped == 0.0 or largest < tolerance:
        return count, 0.0
    kept = 0
    for i in range(count):
        s = here[i]
        if mass[s] < tolerance:
            mass[s] = 0.0
        else:
            mass[s] /= 1.0 - dropped
            here[kept] = s
            kept += 1
    return kept, dropped


@jit
def belief_commands(
    successors, probabilities, kernel_of, q_values, preference, plan_of, tie_tolerance, tolerance, states
):
    """(R, L) actions of robots that act on their belief; of tied actions the first in `preference`.

    Step k follows row plan_of[k] of `q_values`, `preference` and `kernel_of`.
    """
    steps = plan_of.size
    size, actions = q_values.shape[1:]
    mass, ahead = np.zeros(size), np.zeros(size)
    here, there = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    value = np.empty(actions)
    out = np.empty((states.size, steps), dtype=np.int64)
    for row in range(states.size):
        here[0], count = states[row], 1
        mass[states[row]] = 1.0
        for k in range(steps):
            plan = plan_of[k]
            kernel = kernel_of[plan]
            value[:] = 0.0
            for i in range(count):
                for a in range(actions):
                    value[a] += mass[here[i]] * q_values[plan, here[i], a]
            best = value.max()
            for a in preference[plan]:
                if value[a] >= best - tie_tolerance:
                    out[row, k] = a
                    break
            count = _push(
                successors[kernel], probabilities[kernel], out[row, k], mass, here, count, ahead, there
            )
            count, _ = _prune(tolerance, ahead, there, count)
            mass, ahead = ahead, mass
            here, there = there, here
        for i in range(count):
            mass[here[i]] = 0.0
    return out


@jit
def push_rows(
    successors,
    probabilities,
    kernel_of,
    state_action,
    next_state,
    reward_of,
    begin,
    states,
    actions,
    keep,
    tolerance,
):
    """Push every row through its actions; see `replan.skip.segments.Segments` for what comes back."""
    rows, steps = actions.shape
    size = successors.shape[1]
    with_action, with_next = state_action.shape[1] > 0, next_state.shape[1] > 0
    mass, ahead = np.zeros(size), np.zeros(size)
    here, there = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    gained, lost = np.zeros((rows, steps + 1)), np.zeros((rows, steps + 1))
    offsets = np.zeros(rows * (steps + 1) + 1, dtype=np.int64)
    cells, masses = np.empty(1024, dtype=np.int32), np.empty(1024)
    used = 0
    for row in range(rows):
        here[0], count = states[row], 1
        mass[states[row]] = 1.0
        offsets[row * (steps + 1) + 1] = used
        for k in range(1, steps + 1):
            kernel, reward = kernel_of[begin + k - 1], reward_of[begin + k - 1]
            a = actions[row, k - 1]
            total = 0.0
            if with_action:
                for i in range(count):
                    total += mass[here[i]] * state_action[reward, here[i], a]
            count = _push(successors[kernel], probabilities[kernel], a, mass, here, count, ahead, there)
            if with_next:
                for i in range(count):
                    total += ahead[there[i]] * next_state[reward, there[i]]
            count, dropped = _prune(tolerance, ahead, there, count)
            mass, ahead = ahead, mass
            here, there = there, here
            gained[row, k] = gained[row, k - 1] + total
            lost[row, k] = min(1.0, lost[row, k - 1] + dropped)
            if keep[k]:
                if used + count > cells.size:
                    cells = np.concatenate((cells, np.empty(cells.size + count, dtype=np.int32)))
                    masses = np.concatenate((masses, np.empty(masses.size + count)))
                for i in range(count):
                    cells[used] = here[i]
                    masses[used] = mass[here[i]]
                    used += 1
            offsets[row * (steps + 1) + k + 1] = used
        for i in range(count):
            mass[here[i]] = 0.0
    return gained, lost, offsets, cells[:used], masses[:used]
