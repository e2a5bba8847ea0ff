"""Inputs of a certificate: the estimates of the updates, the drift bounds, and the possible successors.

Never the true kernels, except those that an update reveals (P-hat_{tau-1} = P_{tau-1} in the paper's
simulator).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.model.family import Family
from replan.model.general_kernel import successor_lists
from replan.model.kernel import Array, Indices, Kernel
from replan.model.slip import SlipKernel
from replan.model.world import World

CONTRADICTION_TOLERANCE = 1e-9  # by which estimates may differ more than the bounds allow


class NoStructure(InputError):
    """The kernels cannot be taken for members of a declared family."""


@dataclass(frozen=True)
class Estimate:
    """An estimate of P_time, and how far off its entries may be."""

    time: int  # u: the kernel that is estimated is P_u
    kernel: Kernel = field(repr=False)
    radius: Array | None = field(default=None, repr=False)  # (S, A) entrywise; None: it is the true kernel
    delta: float = 0.0  # probability that some entry is farther off than its radius

    def __post_init__(self) -> None:
        if self.radius is None and self.delta != 0:
            raise InputError(
                f"an estimate without a radius is the true kernel: its delta is 0, not {self.delta}"
            )
        if self.radius is not None and not 0 < self.delta < 1:
            raise InputError(
                "an estimate with a radius needs delta, the probability that the radius is too small, "
                f"between 0 and 1, not {self.delta}"
            )


@dataclass(frozen=True)
class Known:
    """Estimates, drift bounds and possible successors; all that is promised follows from them."""

    estimates: tuple[Estimate, ...]
    drift_bounds: Array = field(repr=False)  # (T-1,) epsilon_t
    declared_successors: Indices | None = field(default=None, repr=False)  # (S, k); None: by the estimate
    family: Family | None = None  # used if it is declared to be exact

    @property
    def learned(self) -> bool:
        """Whether any estimate is not the true kernel itself."""
        return any(estimate.radius is not None for estimate in self.estimates)

    @property
    def delta(self) -> float:
        """The probability, at most, that some radius is too small."""
        return sum(estimate.delta for estimate in self.estimates)

    def drift(self, u: int, t: int) -> float:
        """The most that an entry can change between P_u and P_t."""
        return float(self.drift_bounds[min(u, t) : max(u, t)].sum())

    def about(self, t: int, *, both_ends: bool) -> Sequence[Estimate]:
        """The estimates that bound P_t: all, or only the last one made when t came."""
        if both_ends:
            return self.estimates
        return [e for e in self.estimates if e.time < t or e.time == 0][-1:]

    def successors(self) -> tuple[Indices, Array]:
        """(S, k) where a step can lead at any time, and (S, k) 1 for an entry, 0 for padding."""
        return possible_successors(self.estimates[0].kernel, self.declared_successors)

    @property
    def width(self) -> int:
        """The number of states to which a step may lead from one state."""
        if self.declared_successors is not None:
            return self.declared_successors.shape[1]
        first = self.estimates[0].kernel
        return first.actions if isinstance(first, SlipKernel) else first.states

    def contradiction(self) -> str | None:
        """Return the first two estimates that differ more than the drift bounds allow, in words.

        True kernels one after another suffice: a kernel between two of them, weighed by the drift to either,
        is then within drift of both, and so, step by step, of all others.
        """
        for before, after in pairwise(self.estimates):
            apart = float(before.kernel.entrywise_distance(after.kernel).max())
            excess = apart - self.drift(before.time, after.time)
            if excess > CONTRADICTION_TOLERANCE:
                return (
                    f"the estimates of P_{before.time} and P_{after.time} differ by {excess:.3g} more than "
                    "the drift bounds allow: the bounds are too small"
                )
        return None

    @property
    def required_family(self) -> Family:
        """The family; raises `NoStructure` if there is none, or it is not exact."""
        if self.family is None or not self.family.exact:
            raise NoStructure("the structure cannot be used: the world declares no family of kernels")
        return self.family

    def parameters(self) -> dict[int, float]:
        """The parameter of every estimate, by its time; raises `NoStructure` where there is none."""
        family, parameters = self.required_family, dict[int, float]()
        for estimate in self.estimates:
            parameter = family.share_of(estimate.kernel)
            if parameter is None:
                raise NoStructure(
                    f"the structure cannot be used: the estimate of P_{estimate.time} is not in the family"
                )
            parameters[estimate.time] = parameter
        return parameters


def known_in(world: World, estimates: Sequence[Estimate]) -> Known:
    """Return the estimates in order, with the drift bounds, successors and family that the world declares."""
    in_order = tuple(sorted(estimates, key=lambda estimate: estimate.time))
    for before, after in pairwise(in_order):
        if before.time == after.time:
            raise InputError(f"there are two estimates of P_{after.time}")
    declared = world.declared_successors
    if declared is None and isinstance(grid := world.kernel(0), SlipKernel):
        declared = cells_around(grid)  # for estimates that are no grid of moves themselves
    known = Known(in_order, world.drift_bounds, declared, world.family)
    if known.delta >= 1:
        raise InputError(f"the estimates' deltas add up to {known.delta:g}: nothing can be promised")
    return known


def possible_successors(kernel: Kernel, declared: ArrayLike | None = None) -> tuple[Indices, Array]:
    """(S, k) where a step can lead at any time, and (S, k) 1 for an entry, 0 for padding.

    It has to be declared, since drift may open ways that an estimate has not seen. Without a declaration it
    is the cells around on a grid of moves, blocked ones included; otherwise every state.
    """
    if declared is None:
        if isinstance(kernel, SlipKernel):
            declared = cells_around(kernel)
        else:
            declared = np.tile(np.arange(kernel.states), (kernel.states, 1))
    lists = successor_lists(declared, kernel.states)
    entries = np.ones(lists.shape)
    entries[:, 1:] = lists[:, 1:] != lists[:, :-1]
    return lists, entries


def cells_around(kernel: SlipKernel) -> Indices:
    """(S, A) the cells that moves lead to where none is blocked."""
    return SlipKernel(kernel.shape, 0.0).destinations()


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
