"""`trend`: the estimate drifts on in the direction last seen, as far as the drift bounds allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from replan.forecast.base import Evidence, Forecast, Future, KernelAt
from replan.forecast.lasting_drift import held_bounds
from replan.model.combination import combine, side_by_side
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Array, Kernel
from replan.model.slip import SlipKernel

STILL = 1e-12  # two estimates whose entries are all this close have no direction

Moved = Callable[[float], Kernel]  # the kernel when the bounds have allowed so much change


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

    def moved(change: float) -> Kernel:
        share = min(1.0, change / furthest) if furthest > STILL else 0.0
        return combine([kernel, goal], [1 - share, share])

    return moved
