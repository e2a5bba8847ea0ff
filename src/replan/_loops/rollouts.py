"""The loop behind `replan.skip.walk`."""

import numpy as np

from replan._loops import random_bits
from replan._loops.compiler import jit
from replan._loops.grid_passes import neighbours
from replan._loops.random_bits import GOLDEN, PURPOSES, S11, TRANSITION
from replan._loops.stencil import made_move

PURPOSE = np.uint64(TRANSITION)

_mix = jit(random_bits.mix)


@jit
def slip_walk(
    rows, columns, blocked, slip, law, reward, policies, following, plan, looks, seeds, begin, states, gained
):
    """Move every robot L steps; slip (L, 1) or (L, S), law (L, A), reward (1, S) or (L, S).

    Step t follows row plan[t] of the policies (K, S) and MAP successors (K, S); where looks[t] is true, the
    robots see their states.

    All robots are in the inner loop: they do not wait for each other, so the processor overlaps them.
    """
    field = 0 if slip.shape[1] == 1 else 1
    varying = 0 if reward.shape[0] == 1 else 1
    count = states.size
    keys, estimates = np.empty(count, dtype=np.uint64), states.copy()
    for k in range(count):
        keys[k] = _mix(np.uint64(seeds[k]) + GOLDEN)
    to = np.empty((rows * columns, law.shape[1]), dtype=np.int64)
    for s in range(rows * columns):
        for a, cell in enumerate(neighbours(rows, columns, blocked, s // columns, s % columns)):
            to[s, a] = cell
    for step in range(slip.shape[0]):
        reach, last = np.cumsum(law[step]), np.flatnonzero(law[step])[-1]
        if looks[step]:
            estimates[:] = states
        policy, ahead = policies[plan[step]], following[plan[step]]
        counter = (np.uint64(begin + step) * PURPOSES + PURPOSE) * GOLDEN
        for k in range(count):
            uniform = (_mix(keys[k] ^ counter) >> S11) * 2.0**-53
            rho = slip[step, states[k] * field]
            made = made_move(policy[estimates[k]], uniform, rho, reach, last)
            estimates[k] = ahead[estimates[k]]
            states[k] = to[states[k], made]
            gained[k] += reward[step * varying, states[k]]
