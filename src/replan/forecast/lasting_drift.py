"""Drift bounds of the steps ahead, from those known so far.

`held_bounds` holds the last bound to the end of the mission. `lasting_bounds` holds it for as long as the
drift has lasted, and for some steps at least; afterwards nothing moves. Held to the end, drift carries every
parameter of a family to the edge of its range, where an update is worth little, so a robot would look too
early.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from replan.model.kernel import Array

STEADY = 0.35
"""Two bounds are of one pace if the smaller is at least this share of the larger."""
AT_LEAST = 0.2
"""Share of the mission for which drift goes on at least, as far as `REACH` allows."""
REACH = 0.35
"""Change of a probability in that time, at most. A larger single step is a jump and does not go on."""


def held_bounds(known: Array, horizon: int) -> Array:
    """(T-1,) the drift bounds known so far, then the last of them."""
    known = known[: horizon - 1]
    missing = horizon - 1 - len(known)
    return np.pad(known, (0, missing), mode="edge") if len(known) else np.zeros(missing)


def lasting_bounds(known: Array, horizon: int) -> Array:
    """(T-1,) the drift bounds known so far, then the last of them for as long as drift goes on, then 0."""
    known = known[: horizon - 1]
    found = held_bounds(known, horizon)
    if len(known) and known[-1] > 0:
        found[len(known) + _steps(known, horizon) :] = 0.0
    return found


def _steps(known: Array, horizon: int) -> int:
    """Return for how many steps the drift of the last bound goes on: as many as have followed its first."""
    last, at_least = known[-1], ceil(AT_LEAST * horizon)
    other = (known < STEADY * last) | (last < STEADY * known)
    lasted = int(np.argmax(other[::-1])) if other.any() else len(known)
    return max(lasted - 1, at_least if last * at_least <= REACH else int(REACH / last))
