"""What a certificate may use: the estimates that updates left, the drift bounds, and where a step can lead.

Never the true kernels, except those that an update reveals (P-hat_{tau-1} = P_{tau-1} in the paper's
simulator).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.model.kernel import Array, Indices, Kernel
from replan.model.slip import SlipKernel


@dataclass(frozen=True)
class Estimate:
    """An estimate of P_time, and how far off its entries may be."""

    time: int  # u: the kernel that is estimated is P_u
    kernel: Kernel = field(repr=False)
    radius: Array | None = field(default=None, repr=False)  # (S, A) entrywise; None: it is the true kernel


@dataclass(frozen=True)
class Known:
    """Estimates and drift bounds; all that is promised follows from them."""

    estimates: tuple[Estimate, ...]
    drift_bounds: Array = field(repr=False)  # (T-1,) epsilon_t
    delta: float = 0.0  # probability that some radius is too small

    @property
    def learned(self) -> bool:
        """Whether any estimate is not the true kernel itself."""
        return any(estimate.radius is not None for estimate in self.estimates)

    def drift(self, u: int, t: int) -> float:
        """The most that an entry can change between P_u and P_t."""
        return float(self.drift_bounds[min(u, t) : max(u, t)].sum())

    def until(self, update: int) -> Known:
        """What is known right after the update at that time."""
        kept = tuple(e for e in self.estimates if e.time <= max(update - 1, 0))
        return replace(self, estimates=kept)

    def about(self, t: int, *, both_ends: bool) -> Sequence[Estimate]:
        """The estimates that bound P_t: all, or only the last one made when t came."""
        if both_ends:
            return self.estimates
        return [e for e in self.estimates if e.time < t or e.time == 0][-1:]


def possible_successors(kernel: Kernel, declared: ArrayLike | None = None) -> tuple[Indices, Array]:
    """(S, k) where a step can lead at any time, and (S, k) 1 for an entry, 0 for padding.

    It has to be declared, since drift may open ways that an estimate has not seen. On a grid of moves it is
    the cells around; otherwise every state, unless `declared` (S, k) says less.
    """
    if declared is not None:
        lists = np.sort(np.asarray(declared, dtype=np.int64), axis=1)
        if len(lists) != kernel.states or lists.min() < 0 or lists.max() >= kernel.states:
            raise InputError(
                f"the declared successors must be a row of states for each of {kernel.states} states"
            )
    elif isinstance(kernel, SlipKernel):
        lists = np.sort(kernel.destinations(), axis=1)
    else:
        lists = np.tile(np.arange(kernel.states), (kernel.states, 1))
    entries = np.ones(lists.shape)
    entries[:, 1:] = lists[:, 1:] != lists[:, :-1]
    return lists, entries


def spread(kernel: Kernel, successors: Indices, entries: Array) -> Array:
    """(S, A, k) the kernel's probabilities over the possible successors."""
    general = kernel.general()
    same = (successors[:, :, None] == general.successors[:, None, :]) * entries[:, :, None]
    probabilities = np.einsum("ski,sai->sak", same, general.probabilities)
    missing = 1 - probabilities.sum(axis=2)
    if (missing > 1e-9).any():
        s, a = np.argwhere(missing > 1e-9)[0]
        raise InputError(f"the estimate leads from s={s}, a={a} to a state that is not declared possible")
    return probabilities
