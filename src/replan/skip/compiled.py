"""The loop behind `walk`. Imported on first use."""

import numpy as np

from replan.model.jit import jit
from replan.model.slip import MOVES
from replan.model.streams import TRANSITION

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
PURPOSES, PURPOSE = np.uint64(4), np.uint64(TRANSITION)
DOWN, RIGHT = MOVES[:, 0].copy(), MOVES[:, 1].copy()  # (A,) what a move adds to row and column


@jit
def _mix(x):
    """As in replan.model.streams."""
    x = x + GOLDEN
    x = (x ^ (x >> S30)) * FIRST
    x = (x ^ (x >> S27)) * SECOND
    return x ^ (x >> S31)


@jit
def slip_walk(rows, columns, blocked, slip, law, reward, policy, following, seeds, begin, states, gained):
    """Move every robot through the interval; slip (L, 1) or (L, S), law (L, A), reward (1, S) or (L, S).

    All robots are in the inner loop: they do not wait for each other, so the processor overlaps them.
    """
    field = 0 if slip.shape[1] == 1 else 1
    varying = 0 if reward.shape[0] == 1 else 1
    count = states.size
    keys, estimates = np.empty(count, dtype=np.uint64), states.copy()
    at_row, at_column = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
    for k in range(count):
        keys[k] = _mix(np.uint64(seeds[k]) + GOLDEN)
        at_row[k], at_column[k] = states[k] // columns, states[k] % columns
    for step in range(slip.shape[0]):
        counter = (np.uint64(begin + step) * PURPOSES + PURPOSE) * GOLDEN
        for k in range(count):
            uniform = (_mix(keys[k] ^ counter) >> S11) * 2.0**-53
            rho = slip[step, states[k] * field]
            made = policy[estimates[k]]
            estimates[k] = following[estimates[k]]
            remaining = uniform - (1.0 - rho)
            if remaining >= 0.0:
                for a in range(law.shape[1]):
                    if law[step, a] > 0.0:
                        made = a
                        if remaining < rho * law[step, a]:
                            break
                        remaining -= rho * law[step, a]
            i = min(max(at_row[k] + DOWN[made], 0), rows - 1)
            j = min(max(at_column[k] + RIGHT[made], 0), columns - 1)
            to = i * columns + j
            if blocked.size == 1 or not blocked[to]:
                at_row[k], at_column[k], states[k] = i, j, to
            gained[k] += reward[step * varying, states[k]]
