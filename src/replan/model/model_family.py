"""Kernels that depend on one or two parameters, as hypotheses for an estimator.

A `KernelFamily` is a promise that certificates rest on: every kernel of the world is a mixture of two. A
`ModelFamily` is any function from parameters to a kernel, with the values to try; the kernels of the world
need only be near its members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np

from replan.errors import InputError
from replan.model.family import KernelFamily
from replan.model.general_kernel import GeneralKernel, merge_successors
from replan.model.kernel import Array, Indices, Kernel
from replan.model.machine import require_memory
from replan.model.slip import SlipKernel

VALUES = 61  # of a parameter between 0 and 1, by default


class SameMembers(InputError):
    """Different parameters of a family give the same kernel."""


@dataclass(frozen=True)
class ModelFamily:
    """A function from one or two parameters to a kernel, and a grid of their values.

    Distances between members are entrywise, like drift bounds: along each parameter, the position of a value
    is the sum of the distances between neighbouring members up to it.
    """

    description: str
    """A clause that says which parts are constant and which change."""
    values: Mapping[str, Array]
    """(g,) ascending values of each parameter, by its name."""
    member: Callable[..., Kernel] = field(repr=False)
    """Function from one value of each parameter to the kernel."""
    linear: bool = False
    """Whether entries are linear in each parameter: the mean kernel is then the member of the mean."""

    def __post_init__(self) -> None:
        values = {name: np.asarray(grid, dtype=float) for name, grid in self.values.items()}
        if not 1 <= len(values) <= 2:
            raise InputError(f"a model family has one or two parameters, not {len(values)}")
        for name, grid in values.items():
            if grid.ndim != 1 or len(grid) < 2 or not (np.diff(grid) > 0).all():
                raise InputError(f"the values of {name} must be at least two ascending numbers")
        object.__setattr__(self, "values", values)

    @classmethod
    def of_mixture(cls, family: KernelFamily, name: str, values: int = VALUES) -> Self:
        """Make a family of the mixtures of two kernels at evenly spaced parameters."""
        return cls(family.description, {name: np.linspace(0, 1, values)}, family.kernel, linear=True)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each parameter."""
        return tuple(len(grid) for grid in self.values.values())

    @cached_property
    def points(self) -> Array:
        """(G, d) parameters of each member."""
        mesh = np.meshgrid(*self.values.values(), indexing="ij")
        return np.stack([axis.reshape(-1) for axis in mesh], axis=1)

    @cached_property
    def stacked(self) -> tuple[Indices, Array]:
        """(S, k) successors shared by all members, and (G, S, A, k) their probabilities."""
        first = self.member(*self.points[0]).general().probabilities
        require_memory(2 * len(self.points) * first.size, f"{len(self.points)} kernels of a family")
        kernels = [self.member(*point).general() for point in self.points]
        sizes = {(kernel.states, kernel.actions) for kernel in kernels}
        if len(sizes) > 1:
            raise InputError("the kernels of a family must have the same states and actions")
        lists = {kernel.successors.tobytes(): kernel.successors for kernel in kernels}
        together = np.concatenate(list(lists.values()), axis=1)
        shared = merge_successors(together, np.zeros((len(together), 1, together.shape[1])))[0]
        return shared, np.stack([_over(shared, kernel) for kernel in kernels])

    @cached_property
    def positions(self) -> tuple[Array, ...]:
        """(g,) sums of the distances between neighbouring members, for each parameter.

        Where they depend on the other parameter, the least count: no move within a bound is excluded.
        """
        found = []
        for axis, name in enumerate(self.values):
            apart = np.moveaxis(self._neighbour_distances(axis).max(axis=(-2, -1)), axis, 0)
            least = apart.reshape(len(apart), -1).min(axis=1)
            if not (least > 0).all():
                raise SameMembers(f"two neighbouring values of {name} give the same kernel")
            found.append(np.concatenate([[0.0], least.cumsum()]))
        return tuple(found)

    @cached_property
    def depends(self) -> np.ndarray:
        """(d, S, A) bool: the rows of the kernel that each parameter changes."""
        axes = range(len(self.shape))
        return np.stack([(self._neighbour_distances(axis) > 1e-12).any(axis=tuple(axes)) for axis in axes])

    def mean(self, weights: Array) -> Kernel:
        """Return the mean of the members under (G,) weights that add up to 1."""
        if self.is_slip:
            return self.member(*np.clip(weights @ self.points, self.points[0], self.points[-1]))
        successors, probabilities = self.stacked
        return GeneralKernel.of_merged(successors, np.tensordot(weights, probabilities, axes=1))

    @cached_property
    def is_slip(self) -> bool:
        """Whether the parameters are slips of cells; the mean is then a `SlipKernel` like the members."""
        return self.linear and isinstance(self.member(*self.points[0]), SlipKernel)

    def locate(self, kernel: Kernel) -> Array:
        """(G,) weights of the members around a kernel: the nearest and its nearer neighbour on each axis.

        Only rows that depend on the parameters count.
        """
        successors, probabilities = self.stacked
        apart = np.abs(probabilities - _over(successors, kernel)).max(axis=3)
        nearest = apart[:, self.depends.any(axis=0)].max(axis=1).argmin()
        centre, weights = np.unravel_index(nearest, self.shape), np.ones(())
        for axis, along in enumerate(self.positions):
            place = tuple(slice(None) if a == axis else centre[a] for a in range(len(self.shape)))
            line = apart[:, self.depends[axis]].max(axis=1).reshape(self.shape)[place]
            at = int(centre[axis])
            near = min((i for i in (at - 1, at + 1) if 0 <= i < len(along)), key=lambda i: line[i])
            step = abs(along[near] - along[at])
            share = np.zeros(len(along))
            share[near] = np.clip((line[at] + step - line[near]) / (2 * step), 0.0, 1.0)
            share[at] = 1 - share[near]
            weights = np.multiply.outer(weights, share)
        return weights.reshape(-1)

    def _neighbour_distances(self, axis: int) -> Array:
        """(..., S, A) distances of neighbours along an axis; the grid's axes come first."""
        probabilities = self.stacked[1]
        grid = probabilities.reshape(*self.shape, *probabilities.shape[1:])
        return np.abs(np.diff(grid, axis=axis)).max(axis=-1)


def _over(successors: Indices, kernel: Kernel) -> Array:
    """(S, A, k) the kernel's probabilities of (S, k) successors, 0 for those that repeat the one before."""
    general = kernel.general()
    same = successors[:, :, None] == general.successors[:, None, :]
    same[:, 1:] &= (successors[:, 1:] != successors[:, :-1])[:, :, None]
    return general.probabilities @ same.transpose(0, 2, 1)
