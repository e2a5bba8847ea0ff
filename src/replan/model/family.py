"""Kernels that depend on one or two parameters: slip, failure rate, wind angle.

An estimator tries the members of a family and a forecast moves its parameters; the kernels of the world need
only be near them. A world whose kernels are members, all mixtures of the two at the ends of the range, can
promise so (`exact`); certificates rest on that promise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError, require
from replan.model.combination import combine, side_by_side
from replan.model.general_kernel import GeneralKernel, merge_successors
from replan.model.kernel import Array, Indices, Kernel
from replan.model.sizes import require_memory
from replan.model.slip import SlipKernel

MEMBER_TOLERANCE = 1e-9  # by which an entry of a kernel may differ from that of a member
VALUES = 61  # of a parameter between 0 and 1, by default


class SameMembers(InputError):
    """Different parameters of a family give the same kernel."""


@dataclass(frozen=True, eq=False)
class Family:
    """A function from one or two named parameters to a kernel, and the values to try.

    Distances between members are entrywise, like drift bounds: along each parameter, the position of a value
    is the sum of the distances between neighbouring members up to it.

    Parameters
    ----------
    description : str
        A clause that says which parts are constant and which change.
    values : mapping from str to array
        Ascending values of each parameter, by its name.
    member : callable
        Function from one value of each parameter to the kernel.
    linear : bool
        Whether entries are linear in each parameter: the mean kernel is then the member of the mean.
    exact : bool
        Whether every kernel of the world is promised to be a member. The one parameter must be linear.
    moves : Family, optional
        Family whose parameters a forecast moves, from the kernel seen; None: this one.

    Raises
    ------
    InputError
        If there are no or more than two parameters, values do not ascend, or the promise cannot be made.
    """

    description: str
    values: Mapping[str, ArrayLike]
    member: Callable[..., Kernel] = field(repr=False)
    linear: bool = False
    exact: bool = False
    moves: Family | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) <= 2:
            raise InputError(f"a family has one or two parameters, not {len(self.values)}")
        for name, grid in zip(self.values, self.grids, strict=True):
            if grid.ndim != 1 or len(grid) < 2 or not (np.diff(grid) > 0).all():
                raise InputError(f"the values of {name} must be at least two ascending numbers")
        if self.exact and not (self.linear and len(self.values) == 1):
            raise InputError("a family is exact only with one parameter, in which its kernels are linear")

    @classmethod
    def of_mixtures(
        cls, description: str, first: Kernel, last: Kernel, *, name: str = "parameter", values: int = VALUES
    ) -> Self:
        """Return the exact family of the mixtures of two kernels.

        Parameters
        ----------
        description : str
            A clause that says which parts are constant and which change.
        first, last : Kernel
            The members whose parameter is 0 and 1.
        name : str
            Name of the parameter.
        values : int
            Number of values to try.

        Returns
        -------
        Family
            The family.

        Raises
        ------
        InputError
            If the two kernels differ in their states or actions.
        """
        require(Kernel, first=first, last=last)
        if (first.states, first.actions) != (last.states, last.actions):
            raise InputError("the two kernels of a family must have the same states and actions")
        return cls(
            description,
            {name: np.linspace(0, 1, values)},
            lambda parameter: combine([first, last], [1 - parameter, parameter]),
            linear=True,
            exact=True,
        )

    @classmethod
    def of_one_slip(cls, kernel: SlipKernel) -> Self:
        """Return the exact family of a grid whose slip is the same in all cells, from 0 to 1."""
        words = "the kernel is one slip for the whole grid; its slip law and walls are known and stay"
        return cls.of_mixtures(words, kernel.with_slip(0.0), kernel.with_slip(1.0), name="slip")

    @property
    def moving(self) -> Family:
        """The family whose parameters a forecast moves."""
        return self if self.moves is None else self.moves

    def within(self, restrict: Callable[[Kernel], Kernel]) -> Family:
        """Return the family of the members on a part of the states."""
        moves = None if self.moves is None else self.moves.within(restrict)
        return replace(self, member=lambda *values: restrict(self.member(*values)), moves=moves)

    @cached_property
    def grids(self) -> tuple[Array, ...]:
        """(g,) values of each parameter."""
        return tuple(np.asarray(grid, dtype=float) for grid in self.values.values())

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each parameter."""
        return tuple(len(grid) for grid in self.grids)

    @cached_property
    def points(self) -> Array:
        """(G, d) parameters of each member."""
        mesh = np.meshgrid(*self.grids, indexing="ij")
        return np.stack([axis.reshape(-1) for axis in mesh], axis=1)

    @cached_property
    def first(self) -> Kernel:
        """The member with the least parameters."""
        return self.member(*(grid[0] for grid in self.grids))

    @cached_property
    def last(self) -> Kernel:
        """The member with the greatest parameters."""
        return self.member(*(grid[-1] for grid in self.grids))

    @cached_property
    def steepness(self) -> Array:
        """(S, A) the largest change of an entry over the whole range of a linear parameter."""
        return self.first.entrywise_distance(self.last)

    @cached_property
    def is_one_slip(self) -> bool:
        """Whether the members are a grid with one slip for all cells, from 0 to 1."""
        first, last = self.first, self.last
        return (
            isinstance(first, SlipKernel)
            and isinstance(last, SlipKernel)
            and first.differs_in_slip_alone(last)
            and (first.slip.size, last.slip.size) == (1, 1)
            and (first.slip[0], last.slip[0]) == (0.0, 1.0)
        )

    @cached_property
    def is_slip(self) -> bool:
        """Whether the parameters are slips of cells; the mean is then a `SlipKernel` like the members."""
        return self.linear and isinstance(self.first, SlipKernel)

    def share_of(self, kernel: Kernel) -> float | None:
        """Return p of the mixture (1 - p) first + p last that a kernel is; None for any other kernel."""
        if (kernel.states, kernel.actions) != (self.first.states, self.first.actions):
            return None
        share = float(np.clip(self._nearest_share(kernel), 0, 1))
        (grid,) = self.grids
        apart = self.member(grid[0] + share * (grid[-1] - grid[0])).entrywise_distance(kernel).max()
        return share if apart <= MEMBER_TOLERANCE else None

    def _nearest_share(self, kernel: Kernel) -> float:
        """Return the share by the entry that depends on the parameter most."""
        if isinstance(kernel, SlipKernel) and self.is_one_slip:
            return float(kernel.slip[0])
        s, a = np.unravel_index(self.steepness.argmax(), self.steepness.shape)
        kernels = [each.general() for each in (self.first, self.last, kernel)]
        first, last, here = (lists[s, a] for lists in side_by_side(kernels)[1])
        entry = np.abs(last - first).argmax()
        change = (last - first)[entry]
        return 0.0 if change == 0 else (here - first)[entry] / change

    @cached_property
    def stacked(self) -> tuple[Indices, Array]:
        """(S, k) successors shared by all members, and (G, S, A, k) their probabilities."""
        require_memory(
            2 * len(self.points) * self.first.general().probabilities.size,
            f"{len(self.points)} kernels of a family",
        )
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

    @cached_property
    def circular(self) -> tuple[bool, ...]:
        """Whether each parameter is an angle: its first and last value give the same kernel."""
        probabilities = self.stacked[1]
        grid = probabilities.reshape(*self.shape, *probabilities.shape[1:])
        ends = [np.take(grid, [0, -1], axis=axis) for axis in range(len(self.shape))]
        return tuple(bool(np.ptp(each, axis=axis).max() < 1e-12) for axis, each in enumerate(ends))

    def mean(self, weights: Array) -> Kernel:
        """Return the mean of the members under (G,) weights that add up to 1."""
        if self.is_slip:
            return self.member(*np.clip(weights @ self.points, self.points[0], self.points[-1]))
        successors, probabilities = self.stacked
        return GeneralKernel.of_merged(successors, np.tensordot(weights, probabilities, axes=1))

    def distances(self, kernel: Kernel) -> Array:
        """(G, S, A) the entrywise distance of each member from a kernel."""
        successors, probabilities = self.stacked
        return np.abs(probabilities - _over(successors, kernel)).max(axis=3)

    def locate(self, kernel: Kernel) -> Array:
        """(G,) weights of the members around a kernel: the nearest and its nearer neighbour on each axis.

        Only rows that depend on the parameters count. Raises `SameMembers` if one of them changes nothing.
        """
        positions, apart = self.positions, self.distances(kernel)
        nearest = apart[:, self.depends.any(axis=0)].max(axis=1).argmin()
        centre, weights = np.unravel_index(nearest, self.shape), np.ones(())
        for axis, along in enumerate(positions):
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
