"""Drift that swings: a parameter that comes to rest goes back when it moves again.

Drift bounds tell how fast the world moves, not in which direction. They do tell when it rests, and what
swings smoothly, or between two values, turns then and at no other time.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from replan.forecast.base import Evidence, KernelAt
from replan.forecast.lasting_drift import lasting_bounds
from replan.forecast.trend import Moved
from replan.model.kernel import Array, Kernel

RESTING = 0.35  # of the largest bound since the last turn, at most


def swinging(evidence: Evidence, forth: Moved, back: Moved) -> KernelAt | None:
    """t -> the estimate moved forth, back after the next rest, and so on; None where no rest is known."""
    bounds = _repeated(evidence)
    directions = _directions(bounds)[evidence.since :]
    if not (directions != directions[:1]).any():
        return None
    signed = bounds[evidence.since :] * directions * directions[0]
    change = np.concatenate([[0.0], np.cumsum(signed)])

    @cache
    def at(t: int) -> Kernel:
        so_far = float(change[min(max(t - evidence.since, 0), len(change) - 1)])
        if so_far == 0.0:
            return evidence.kernel
        return forth(so_far) if so_far > 0 else back(-so_far)

    return at


def _directions(bounds: Array) -> Array:
    """1 or -1 for each of the bounds, another one from the middle of each rest on."""
    found, largest, rest = np.ones(len(bounds)), 0.0, 0  # rest: steps that it has lasted
    for t, bound in enumerate(bounds):
        if largest > 0.0 and bound <= RESTING * largest:
            rest += 1
            continue
        if rest:
            found[t - rest // 2 :] *= -1
            largest, rest = 0.0, 0
        largest = max(largest, bound)
    return found


def _repeated(evidence: Evidence) -> Array:
    """(T-1,) the bounds known so far, then the last swing again and again; before two turns, lasting ones."""
    known = evidence.drift_bounds[: evidence.horizon - 1]
    turns = np.flatnonzero(np.diff(_directions(known))) + 1
    if len(turns) < 2:
        return lasting_bounds(known, evidence.horizon)
    swing = known[-(turns[-1] - turns[-2]) :]
    return np.concatenate([known, np.resize(swing, evidence.horizon - 1 - len(known))])
