"""How long drift lasts: to the end of the mission, or for as long again as it has lasted.

Nothing tells when drift ends. Held to the end of the mission it carries every parameter of a family to the
edge of its range, where an update is worth little, so that a robot would look too early. One large step is a
jump, and is not expected to go on.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from replan.model.kernel import Array

STEADY = 0.35  # of the larger of two bounds, at least, is the smaller one where both are of one pace
AT_LEAST = 0.2  # of the mission, that drift goes on for,
REACH = 0.35  # unless it changes a probability by more than this until then


def held_bounds(known: Array, horizon: int) -> Array:
    """(T-1,) the drift bounds known so far, then the last of them."""
    known = known[: horizon - 1]
    missing = horizon - 1 - len(known)
    return np.pad(known, (0, missing), mode="edge") if len(known) else np.zeros(missing)


def lasting_bounds(known: Array, horizon: int) -> Array:
    """(T-1,) the drift bounds known so far, the last of them for as long again as it has lasted, then 0."""
    found = np.zeros(horizon - 1)
    count = min(len(known), horizon - 1)
    found[:count] = known[:count]
    last = found[count - 1] if count else 0.0
    if last > 0:
        bounds = found[:count]
        other = (bounds < STEADY * last) | (last < STEADY * bounds)
        again = int(np.argmax(other[::-1])) - 1 if other.any() else count - 1
        steps = ceil(AT_LEAST * horizon)
        within_reach = steps if last * steps <= REACH else int(REACH / last)
        found[count : count + max(again, within_reach)] = last
    return found
