"""Records from before a mission began: the kernels of earlier steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from replan.errors import InputError
from replan.model.combination import combine
from replan.model.kernel import Kernel


class Past(ABC):
    """Records of the steps before t = 0, one for each step; record `length` - 1 is that of t = -1."""

    period: int = 1
    """Steps after which things repeat, such as 24 for hourly steps and a daily cycle; 1: nothing repeats."""

    @property
    @abstractmethod
    def length(self) -> int:
        """Number of records."""

    @abstractmethod
    def distance(self, kernel: Kernel, start: int) -> float:
        """Return how far a kernel is from a record, in any unit."""

    @abstractmethod
    def changed(self, kernel: Kernel, start: int, steps: int) -> Kernel:
        """Return a kernel changed as the records did from `start` to `start` + `steps`."""


@dataclass(frozen=True, eq=False)
class RecordedKernels(Past):
    """Kernels of earlier steps. Changes of probabilities are added; negative ones count as 0."""

    kernels: Sequence[Kernel] = field(repr=False)
    """One for each step before t = 0, the earliest first."""
    period: int = 1
    """Steps after which things repeat."""

    def __post_init__(self) -> None:
        if self.period < 1:
            raise InputError(f"the period of a past must be at least 1 step, not {self.period}")

    @property
    def length(self) -> int:
        """Number of kernels."""
        return len(self.kernels)

    def distance(self, kernel: Kernel, start: int) -> float:
        """Return the mean total variation to a record."""
        return float(kernel.total_variation(self.kernels[start]).mean())

    def changed(self, kernel: Kernel, start: int, steps: int) -> Kernel:
        """Return a kernel changed as the records did."""
        before, after = self.kernels[start], self.kernels[start + steps]
        return kernel if before is after else combine([kernel, after, before], [1.0, 1.0, -1.0])
