"""Counter-based random numbers: one number per (seed, time, purpose), whatever else is drawn or not.

Every method and the oracle see the same number at the same (seed, t), so comparisons are paired, and
results depend neither on threads nor on the size of batches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from replan._loops.random_bits import DURATION, GOLDEN, PURPOSES, RULE, S11, TIES, TRANSITION, WORLD, mix
from replan.model.kernel import Array

__all__ = ["DURATION", "RULE", "TIES", "TRANSITION", "WORLD", "uniforms"]


def uniforms(seeds: ArrayLike, times: ArrayLike, purpose: int = TRANSITION) -> Array:
    """Return uniform numbers in [0, 1) for seeds and times, broadcast against each other."""
    seeds = np.asarray(seeds).astype(np.uint64)
    counter = np.asarray(times).astype(np.uint64) * PURPOSES + np.uint64(purpose)
    with np.errstate(over="ignore"):
        return (mix(mix(seeds + GOLDEN) ^ (counter * GOLDEN)) >> S11) * 2.0**-53
