"""Counter-based random numbers: one number per (seed, time, purpose), whatever else is drawn or not.

Every method and the oracle see the same number at the same (seed, t), so comparisons are paired, and
results depend neither on threads nor on the size of batches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from replan.model.kernel import Array

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
TRANSITION, RULE, TIES, WORLD = range(4)  # what the number is for


def uniforms(seeds: ArrayLike, times: ArrayLike, purpose: int = TRANSITION) -> Array:
    """Uniform numbers in [0, 1) for seeds and times, broadcast against each other."""
    seeds = np.asarray(seeds).astype(np.uint64)
    counter = np.asarray(times).astype(np.uint64) * np.uint64(4) + np.uint64(purpose)
    with np.errstate(over="ignore"):
        return (_mix(_mix(seeds + _GOLDEN) ^ (counter * _GOLDEN)) >> np.uint64(11)) * 2.0**-53


def _mix(x: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64: every bit of the input moves half the bits of the output."""
    x = x + _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
