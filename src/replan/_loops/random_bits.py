"""Constants and mixing function of the counter-based random numbers, for arrays and compiled loops alike."""

import numpy as np

TRANSITION, RULE, TIES, WORLD = range(4)  # purposes of a number
DURATION = 1 << 40  # of an update, beyond the counters of all times
PURPOSES = np.uint64(4)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)


def mix(x):
    """Finalise as splitmix64 does: every bit of the input moves half the bits of the output."""
    x = x + GOLDEN
    x = (x ^ (x >> S30)) * FIRST
    x = (x ^ (x >> S27)) * SECOND
    return x ^ (x >> S31)
