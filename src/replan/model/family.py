"""Kernels that depend on one number, such as the slip of a whole grid or the failure rate of ice.

A world that declares a `KernelFamily` promises that its kernel is a member at every time: all but the
parameter (the slip law, the walls) is known and stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from replan.errors import InputError
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Array, Kernel
from replan.model.slip import SlipKernel

MEMBER_TOLERANCE = 1e-9  # by which an entry of a kernel may differ from that of a member


@dataclass(frozen=True)
class KernelFamily:
    """The mixtures of two kernels: `first`, where the parameter is 0, and `last`, where it is 1."""

    description: str
    """A clause that says which parts are constant and which change."""
    first: Kernel = field(repr=False)
    """The member whose parameter is 0."""
    last: Kernel = field(repr=False)
    """The member whose parameter is 1."""

    def __post_init__(self) -> None:
        if (self.first.states, self.first.actions) != (self.last.states, self.last.actions):
            raise InputError("the two kernels of a family must have the same states and actions")

    @classmethod
    def of_one_slip(cls, kernel: SlipKernel) -> Self:
        """Return the family of a grid whose slip is the same in all cells, from 0 to 1."""
        words = "the kernel is one slip for the whole grid; its slip law and walls are known and stay"
        return cls(words, kernel.with_slip(0.0), kernel.with_slip(1.0))

    def kernel(self, parameter: float) -> Kernel:
        """Return the member with that parameter, between 0 and 1."""
        first, last = self.first, self.last
        if (
            isinstance(first, SlipKernel)
            and isinstance(last, SlipKernel)
            and first.differs_in_slip_alone(last)
        ):
            return first.with_slip((1 - parameter) * first.slip + parameter * last.slip)
        first, last = first.general(), last.general()
        return GeneralKernel(
            np.concatenate([first.successors, last.successors], axis=1),
            np.concatenate([(1 - parameter) * first.probabilities, parameter * last.probabilities], axis=2),
        )

    def steepness(self) -> Array:
        """(S, A) the largest change of an entry for a unit change of the parameter."""
        return self.first.entrywise_distance(self.last)

    def parameter_of(self, kernel: Kernel) -> float | None:
        """Return the parameter of a member; None for a kernel that is none."""
        if (kernel.states, kernel.actions) != (self.first.states, self.first.actions):
            return None
        parameter = float(np.clip(self._nearest(kernel), 0, 1))
        apart = self.kernel(parameter).entrywise_distance(kernel).max()
        return parameter if apart <= MEMBER_TOLERANCE else None

    def _nearest(self, kernel: Kernel) -> float:
        """Return the parameter by the entry that depends on it most."""
        steepness = self.steepness()
        if isinstance(kernel, SlipKernel) and self.is_one_slip:
            return float(kernel.slip[0])
        s, a = np.unravel_index(steepness.argmax(), steepness.shape)
        first, last, here = (_row(each, int(s), int(a)) for each in (self.first, self.last, kernel))
        entry = np.abs(last - first).argmax()
        change = (last - first)[entry]
        return 0.0 if change == 0 else (here - first)[entry] / change

    @property
    def is_one_slip(self) -> bool:
        """Whether the parameter is the slip of all cells of a grid."""
        first, last = self.first, self.last
        return (
            isinstance(first, SlipKernel)
            and isinstance(last, SlipKernel)
            and first.differs_in_slip_alone(last)
            and (first.slip.size, last.slip.size) == (1, 1)
            and (first.slip[0], last.slip[0]) == (0.0, 1.0)
        )


def _row(kernel: Kernel, s: int, a: int) -> Array:
    """(S,) the probabilities of the next states of one state and action."""
    general = kernel.general()
    row = np.zeros(general.states)
    np.add.at(row, general.successors[s], general.probabilities[s, a])
    return row
