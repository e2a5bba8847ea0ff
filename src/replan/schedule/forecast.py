"""Kernels expected after the last estimate, moved as far as the drift bounds allow."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import inf

import numpy as np

from replan.model.family import KernelFamily
from replan.model.kernel import Array, GeneralKernel, Indices, Kernel, merge_successors
from replan.model.slip import SlipKernel

STILL = 1e-12  # two estimates whose entries are all this close have no direction

Course = Callable[[float], Kernel]  # the kernel when the bounds have allowed so much change


def growing(
    kernel: Kernel,
    drift_bounds: Array,
    *,
    since: int,
    earlier: Kernel | None = None,
    earlier_since: int = 0,
    at_most: float = inf,
) -> Callable[[int], Kernel]:
    """t -> the kernel known at `since`, moved on at every step up to t as far as epsilon allows.

    It moves on from the `earlier` one in the direction in which it came, see `onwards`, by `at_most` so many
    times what it came; without an earlier one it moves towards chance.
    """
    since = max(since, 0)
    allowed = np.concatenate([[0.0], np.cumsum(drift_bounds[since:])])  # by since + k
    if earlier is None:
        moved = towards_chance(kernel)
    else:
        between = float(drift_bounds[max(earlier_since, 0) : since].sum())
        moved = onwards(earlier, kernel, allowed=between, at_most=at_most)

    @lru_cache
    def at(t: int) -> Kernel:
        change = float(allowed[min(max(t - since, 0), len(allowed) - 1)])
        return kernel if change == 0.0 else moved(change)

    return at


def onwards(earlier: Kernel, kernel: Kernel, *, allowed: float, at_most: float = inf) -> Course:
    """On along the difference of two estimates, between which the bounds allowed a change of `allowed`.

    What drifted as fast as the bounds allow goes on so, what drifted at half that speed goes on at half, and
    what stood still stands still. A row of the kernel (a cell of a `SlipKernel`) stops at the edge of the
    simplex.
    """
    furthest = float(kernel.entrywise_distance(earlier).max())
    if furthest <= STILL:
        return lambda change: kernel
    allowed = max(allowed, furthest)  # estimates that are learned may differ by more

    def share(change: float) -> float:
        return min(change / allowed, at_most)

    if (
        isinstance(kernel, SlipKernel)
        and isinstance(earlier, SlipKernel)
        and kernel.differs_in_slip_alone(earlier)
    ):
        more = kernel.slip - earlier.slip
        return lambda change: _with_slip(kernel, np.clip(kernel.slip + share(change) * more, 0.0, 1.0))
    successors, now, before = _side_by_side(kernel.general(), earlier.general())
    more = now - before
    room = np.divide(now, -more, out=np.full_like(now, np.inf), where=more < 0).min(axis=2, keepdims=True)
    return lambda change: GeneralKernel(
        successors, np.maximum(now + np.minimum(share(change), room) * more, 0.0)
    )


def towards_chance(kernel: Kernel) -> Course:
    """More slip for a `SlipKernel`, towards equally likely successors for any other."""
    if isinstance(kernel, SlipKernel):
        per_slip = float(KernelFamily.of_one_slip(kernel).steepness().max()) or 1.0
        return lambda change: _with_slip(kernel, np.minimum(kernel.slip + change / per_slip, 1.0))
    lists = kernel.general()
    possible = (lists.probabilities > 0).any(axis=1, keepdims=True)
    chance = possible / possible.sum(axis=2, keepdims=True)
    furthest = np.abs(chance - lists.probabilities).max()

    def course(change: float) -> Kernel:
        share = min(1.0, change / furthest) if furthest > 0 else 0.0
        return GeneralKernel(lists.successors, (1 - share) * lists.probabilities + share * chance)

    return course


def _with_slip(kernel: SlipKernel, slip: Array) -> SlipKernel:
    return SlipKernel(kernel.shape, slip, law=kernel.law, blocked=kernel.blocked)


def _side_by_side(one: GeneralKernel, other: GeneralKernel) -> tuple[Indices, Array, Array]:
    """(S, k) the successors of both, and each one's (S, A, k) probabilities of them."""
    successors = np.concatenate([one.successors, other.successors], axis=1)
    mine = np.concatenate([one.probabilities, np.zeros_like(other.probabilities)], axis=2)
    theirs = np.concatenate([np.zeros_like(one.probabilities), other.probabilities], axis=2)
    return *merge_successors(successors, mine), merge_successors(successors, theirs)[1]
