"""A kernel that grows less certain as fast as the drift bounds allow."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from replan.model.kernel import Array, GeneralKernel, Kernel
from replan.model.slip import SlipKernel


def growing(kernel: Kernel, drift_bounds: Array, *, since: int) -> Callable[[int], Kernel]:
    """t -> the kernel known at `since`, moved towards chance by epsilon at every step up to t.

    Towards chance is more slip for a `SlipKernel`, and towards equally likely successors for any other; the
    largest change of an entry is the bound itself.
    """
    since = max(since, 0)
    grown = np.concatenate(
        [[0.0], np.cumsum(drift_bounds[since:])]
    )  # largest change of an entry by since + k

    @lru_cache
    def at(t: int) -> Kernel:
        change = float(grown[min(max(t - since, 0), len(grown) - 1)])
        return kernel if change == 0.0 else _less_certain(kernel, change)

    return at


def _less_certain(kernel: Kernel, change: float) -> Kernel:
    if isinstance(kernel, SlipKernel):
        per_slip = 1.0 - float(kernel.law.min())  # an entry moves by this for every unit of slip
        slip = np.minimum(kernel.slip + change / per_slip, np.maximum(kernel.slip, 1.0))
        return SlipKernel(kernel.shape, slip, law=kernel.law, blocked=kernel.blocked)
    lists = kernel.general()
    possible = (lists.probabilities > 0).any(axis=1, keepdims=True)
    chance = possible / possible.sum(axis=2, keepdims=True)
    furthest = np.abs(chance - lists.probabilities).max()
    share = min(1.0, change / furthest) if furthest > 0 else 0.0
    return GeneralKernel(lists.successors, (1 - share) * lists.probabilities + share * chance)
