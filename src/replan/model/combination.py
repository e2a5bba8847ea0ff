"""Several kernels together: weighted sums of them, and all of them in one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from replan import _loops
from replan.model.general_kernel import GeneralKernel, in_slots, merge_successors, merged_slots
from replan.model.kernel import Array, Indices, Kernel
from replan.model.sizes import require_memory
from replan.model.slip import SlipKernel

IMPOSSIBLE = 1e-15  # probabilities below this are rounding errors


def combine(kernels: Sequence[Kernel], weights: Sequence[float]) -> Kernel:
    """Return the kernel whose entries are the weighted sums of those given.

    The weights add up to 1. Where one is negative, entries below 0 are clipped and their row is normalised.
    """
    parts = [(kernel, weight) for kernel, weight in zip(kernels, weights, strict=True) if weight != 0.0]
    first = parts[0][0]
    if all(kernel is first for kernel, _ in parts):
        return first
    if grids := _differing_in_slip_alone([kernel for kernel, _ in parts]):
        slip = sum(weight * grid.slip for grid, (_, weight) in zip(grids, parts, strict=True))
        if np.min(slip) >= 0.0 and np.max(slip) <= 1.0:
            return grids[0].with_slip(slip)
    successors, lists = side_by_side([kernel.general() for kernel, _ in parts])
    mixed = sum(weight * each for each, (_, weight) in zip(lists, parts, strict=True))
    if min(weight for _, weight in parts) < 0:
        mixed = np.where(mixed < IMPOSSIBLE, 0.0, mixed)
        mixed /= mixed.sum(axis=2, keepdims=True)
    return GeneralKernel.of_merged(successors, np.asarray(mixed))


def stack_kernels(kernels: Sequence[Kernel]) -> tuple[Indices, Array]:
    """(K, S, A, k) successors of each action and their probabilities, for compiled loops."""
    if grids := _differing_in_slip_alone(kernels):
        return _stack_slips(grids)
    lists = [one.general() for one in kernels]
    states, actions = lists[0].states, lists[0].actions
    width = max(one.most_successors for one in lists)
    require_memory(1.5 * len(lists) * states * actions * width, f"{len(lists)} kernels of {states} states")
    successors = np.empty((len(lists), states, actions, width), dtype=np.int32)
    probabilities = np.empty(successors.shape)
    for one, *parts in zip(lists, successors, probabilities, strict=True):
        _loops.general.by_action(one.successors, one.probabilities, *parts)
    return successors, probabilities


def _differing_in_slip_alone(kernels: Sequence[Kernel]) -> list[SlipKernel]:
    """Return the kernels if they differ only in the slip of one grid, else an empty list."""
    grids = [kernel for kernel in kernels if isinstance(kernel, SlipKernel)]
    same = len(grids) == len(kernels) and all(grids[0].differs_in_slip_alone(other) for other in grids)
    return grids if same else []


def _stack_slips(grids: Sequence[SlipKernel]) -> tuple[Indices, Array]:
    """Stack kernels of one grid, whose probabilities are linear in the slip."""
    first, actions = grids[0], grids[0].actions
    require_memory((len(grids) + 4) * first.states * 1.5 * actions**2, f"{len(grids)} kernels")
    parts = np.concatenate([np.eye(actions), np.broadcast_to(first.law, (actions, actions))])
    lists, merged = merge_successors(
        first.destinations(), np.broadcast_to(parts, (first.states, *parts.shape))
    )
    sure, astray = merged[:, :actions], merged[:, actions:]
    slips = np.stack([np.broadcast_to(grid.slip, grid.states) for grid in grids])[:, :, None, None]
    shape = (len(grids), first.states, actions, lists.shape[1])
    successors = np.empty(shape, dtype=np.int32)
    successors[:] = lists[:, None]
    return successors, (1 - slips) * sure + slips * astray


def side_by_side(kernels: Sequence[GeneralKernel]) -> tuple[Indices, list[Array]]:
    """(S, k) the successors of all, and each one's (S, A, k) probabilities of them."""
    first = kernels[0].successors
    if all(each.successors is first or np.array_equal(each.successors, first) for each in kernels):
        return first, [each.probabilities for each in kernels]
    merged, slots = merged_slots(np.concatenate([each.successors for each in kernels], axis=1))
    ends = np.cumsum([each.successors.shape[1] for each in kernels])[:-1]
    parts = zip(np.split(slots, ends, axis=1), kernels, strict=True)
    return merged, [in_slots(own, each.probabilities, merged.shape[1]) for own, each in parts]
