"""Counter-based random numbers: one number per (seed, time, purpose), whatever else is drawn or not.

Every method and the oracle see the same number at the same (seed, t), so comparisons are paired, and
results depend neither on threads nor on the size of batches.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from replan._loops import random_bits
from replan._loops.random_bits import GOLDEN, PURPOSES, S11, mix
from replan.typing import Array

Purpose = Literal["transition", "rule", "ties", "world", "duration"]
TRANSITION, RULE, TIES, WORLD, DURATION = get_args(Purpose)
NUMBERS: dict[Purpose, int] = {
    "transition": random_bits.TRANSITION,
    "rule": random_bits.RULE,
    "ties": random_bits.TIES,
    "world": random_bits.WORLD,
    "duration": random_bits.DURATION,
}
"""Number of each purpose, as compiled loops know it."""


def uniforms(seeds: ArrayLike, times: ArrayLike, purpose: Purpose = "transition") -> Array:
    """Return uniform numbers in [0, 1), each settled by its seed, time and purpose alone.

    Parameters
    ----------
    seeds, times : array-like of int
        They are broadcast against each other.
    purpose : {"transition", "rule", "ties", "world", "duration"}
        Numbers of different purposes are independent.

    Returns
    -------
    array
        One number for each seed and time.
    """
    seeds = np.asarray(seeds).astype(np.uint64)
    counter = np.asarray(times).astype(np.uint64) * PURPOSES + np.uint64(NUMBERS[purpose])
    with np.errstate(over="ignore"):
        return (mix(mix(seeds + GOLDEN) ^ (counter * GOLDEN)) >> S11) * 2.0**-53
