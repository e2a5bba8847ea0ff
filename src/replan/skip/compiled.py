"""The loop behind `walk`. Imported on first use."""

import numpy as np

from replan.model.jit import jit
from replan.model.streams import TRANSITION

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
PURPOSES, PURPOSE = np.uint64(4), np.uint64(TRANSITION)


@jit
def _mix(x):
    """As in replan.model.streams."""
    x = x + GOLDEN
    x = (x ^ (x >> S30)) * FIRST
    x = (x ^ (x >> S27)) * SECOND
    return x ^ (x >> S31)


@jit
def slip_walk(rows, columns, blocked, slip, law, reward, policy, following, seeds, begin, states, gained):
    """Move every robot through the interval; slip (L, 1) or (L, S), law (L, A), reward (1, S) or (L, S)."""
    steps = slip.shape[0]
    field = 0 if slip.shape[1] == 1 else 1
    varying = 0 if reward.shape[0] == 1 else 1
    for row in range(states.size):
        key = _mix(np.uint64(seeds[row]) + GOLDEN)
        s = estimate = states[row]
        i, j = s // columns, s % columns
        total = gained[row]
        for step in range(steps):
            counter = np.uint64(begin + step) * PURPOSES + PURPOSE
            uniform = (_mix(key ^ (counter * GOLDEN)) >> S11) * 2.0**-53
            rho = slip[step, s * field]
            made = policy[estimate]
            remaining = uniform - (1.0 - rho)
            if remaining >= 0.0:
                for a in range(law.shape[1]):
                    if law[step, a] > 0.0:
                        made = a
                        if remaining < rho * law[step, a]:
                            break
                        remaining -= rho * law[step, a]
            to_i, to_j = i, j
            if made == 0:
                to_j = min(j + 1, columns - 1)
            elif made == 1:
                to_j = max(j - 1, 0)
            elif made == 2:
                to_i = min(i + 1, rows - 1)
            elif made == 3:
                to_i = max(i - 1, 0)
            to = to_i * columns + to_j
            if blocked.size == 1 or not blocked[to]:
                i, j, s = to_i, to_j, to
            total += reward[step * varying, s]
            estimate = following[estimate]
        states[row] = s
        gained[row] = total
