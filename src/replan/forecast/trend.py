"""`trend`: the estimate drifts on in the direction last seen; and all other ways in which forecasts move it.

A way to move (`Moved`) says which kernel a change of so much leads to; drift bounds say how much may change.
`held_bounds` holds the last bound to the end of the mission. `lasting_bounds` holds it for as long as the
drift has lasted, and for some steps at least; afterwards nothing moves. Held to the end, drift carries every
parameter of a family to the edge of its range, where an update is worth little, so a robot would look too
early. Bounds tell how fast the world moves, not in which direction. They do tell when it rests: what swings
smoothly, or between two values, turns then and at no other time (`swinging`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from math import ceil

import numpy as np

from replan.forecast.base import Evidence, Forecast, Future, KernelAt
from replan.model.combination import combine, side_by_side
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Array, Kernel
from replan.model.slip import SlipKernel

STILL = 1e-12  # two estimates whose entries are all this close have no direction

Moved = Callable[[float], Kernel]  # the kernel when the bounds have allowed so much change
STEADY = 0.35
"""Two bounds are of one pace if the smaller is at least this share of the larger."""
AT_LEAST = 0.2
"""Share of the mission for which drift goes on at least, as far as `REACH` allows."""
REACH = 0.35
"""Change of a probability in that time, at most. A larger single step is a jump and does not go on."""
RESTING = 0.35  # of the largest bound since the last turn, at most


@dataclass(frozen=True)
class Trend(Forecast):
    """Drift on as from the earlier estimate to this one, and no further than that.

    The drift bound of the last step is held. What drifted as fast as the bounds allow goes on so, what stood
    still stands still; before there is a direction the estimate moves towards chance.
    """

    compares = True

    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return the one course."""
        return (Future("goes on", 1.0, going_on(evidence)),)

    def sources(self, horizon: int) -> Iterable[Kernel]:
        """Return no kernels: the estimates are all."""
        return ()


def going_on(evidence: Evidence) -> KernelAt:
    """t -> the estimate moved on in the direction last seen; without one, towards chance."""
    moved = towards_chance(evidence.kernel) if evidence.earlier is None else onwards(evidence)
    return moving(evidence, moved, held_bounds(evidence.drift_bounds, evidence.horizon))


def moving(evidence: Evidence, moved: Moved, bounds: Array) -> KernelAt:
    """t -> the estimate, moved on at every step up to t as far as the (T-1,) drift bounds allow."""
    allowed = np.concatenate([[0.0], np.cumsum(bounds[evidence.since :])])
    moved = cache(moved)  # what rests is one kernel

    @cache
    def at(t: int) -> Kernel:
        change = float(allowed[min(max(t - evidence.since, 0), len(allowed) - 1)])
        return evidence.kernel if change == 0.0 else moved(change)

    return at


def onwards(evidence: Evidence) -> Moved:
    """Move on along the difference of the two estimates, at most as far again.

    A row of the kernel (a cell of a `SlipKernel`) stops at the edge of the simplex.
    """
    assert evidence.earlier is not None
    kernel, (earlier_time, earlier) = evidence.kernel, evidence.earlier
    furthest = float(kernel.entrywise_distance(earlier).max())
    if furthest <= STILL:
        return lambda change: kernel
    between = evidence.drift_bounds[max(earlier_time - 1, 0) : evidence.since].sum()
    allowed = max(float(between), furthest)  # estimates that are learned may differ by more

    def share(change: float) -> float:
        return min(change / allowed, 1.0)

    if (
        isinstance(kernel, SlipKernel)
        and isinstance(earlier, SlipKernel)
        and kernel.differs_in_slip_alone(earlier)
    ):
        more = kernel.slip - earlier.slip
        return lambda change: kernel.with_slip(np.clip(kernel.slip + share(change) * more, 0.0, 1.0))
    successors, (now, before) = side_by_side([kernel.general(), earlier.general()])
    more = now - before
    room = np.divide(now, -more, out=np.full_like(now, np.inf), where=more < 0).min(axis=2, keepdims=True)
    return lambda change: GeneralKernel.of_merged(
        successors, np.maximum(now + np.minimum(share(change), room) * more, 0.0)
    )


def towards_chance(kernel: Kernel) -> Moved:
    """Move a `SlipKernel` to more slip, any other kernel towards equally likely successors."""
    if isinstance(kernel, SlipKernel):
        per_slip = float(kernel.steepness().max()) or 1.0
        return lambda change: kernel.with_slip(np.minimum(kernel.slip + change / per_slip, 1.0))
    lists = kernel.general()
    possible = (lists.probabilities > 0).any(axis=1, keepdims=True)
    chance = GeneralKernel.of_merged(
        lists.successors,
        np.broadcast_to(possible / possible.sum(axis=2, keepdims=True), lists.probabilities.shape),
    )
    return towards(lists, chance)


def towards(kernel: Kernel, goal: Kernel) -> Moved:
    """Move on the straight line to another kernel, as far as entries may change; the move ends there."""
    furthest = float(kernel.entrywise_distance(goal).max())

    @cache
    def between(share: float) -> Kernel:
        return combine([kernel, goal], [1 - share, share])

    return lambda change: between(min(1.0, change / furthest) if furthest > STILL else 0.0)


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


def swinging(evidence: Evidence, forth: Moved, back: Moved) -> KernelAt | None:
    """t -> the estimate moved forth, back after the next rest, and so on; None where no rest is known."""
    bounds = _repeated(evidence)
    directions = _directions(bounds)[evidence.since :]
    if not (directions != directions[:1]).any():
        return None
    signed = bounds[evidence.since :] * directions * directions[0]
    change = np.concatenate([[0.0], np.cumsum(signed)])
    forth, back = cache(forth), cache(back)

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


def swapped_actions(kernel: Kernel) -> Moved:
    """Towards the kernel in which each action does what the one before it does now."""
    lists = kernel.general()
    return towards(lists, GeneralKernel.of_merged(lists.successors, np.roll(lists.probabilities, 1, axis=1)))
