"""Records from before a mission began: the kernels of earlier steps, or the parameters behind them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.model.combination import combine
from replan.model.kernel import Array, Kernel


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
        check_period(self.period)

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


@dataclass(frozen=True, eq=False)
class RecordedParameters(Past):
    """Parameters of earlier kernels, such as winds or fields of currents. Their changes are added."""

    parameters: Array = field(repr=False)
    """(n, ...) one row for each step before t = 0, the earliest first."""
    kernel_of: Callable[[Array], Kernel] = field(repr=False)
    """Parameters of one step -> their kernel."""
    parameters_of: Callable[[Kernel], Array | None] = field(repr=False)
    """Kernel -> its parameters; None for a kernel of another kind."""
    period: int = 1
    """Steps after which things repeat."""

    def __post_init__(self) -> None:
        check_period(self.period)

    @property
    def length(self) -> int:
        """Number of rows."""
        return len(self.parameters)

    def distance(self, kernel: Kernel, start: int) -> float:
        """Return the root of the summed squared differences of the parameters."""
        now = self.parameters_of(kernel)
        if now is None:
            return self._kernels.distance(kernel, start)
        return float(np.linalg.norm(self.parameters[start] - now))

    def changed(self, kernel: Kernel, start: int, steps: int) -> Kernel:
        """Return the kernel of changed parameters; one of another kind is changed by its probabilities."""
        now = self.parameters_of(kernel)
        if now is None:
            return self._kernels.changed(kernel, start, steps)
        return self.kernel_of(now + self.parameters[start + steps] - self.parameters[start])

    @cached_property
    def _kernels(self) -> RecordedKernels:
        return RecordedKernels(KernelsOnDemand(self.parameters, self.kernel_of), self.period)


class KernelsOnDemand(Sequence):
    """Kernels that are made when asked for."""

    def __init__(self, parameters: Sequence | Array, kernel_of: Callable[[Any], Kernel]) -> None:
        self.parameters, self.kernel_of = parameters, kernel_of

    def __len__(self) -> int:
        return len(self.parameters)

    def __getitem__(self, index: Any) -> Any:
        return self.kernel_of(self.parameters[index])


def check_period(period: int) -> None:
    """Raise `InputError` unless the period is at least one step."""
    if period < 1:
        raise InputError(f"the period of a past must be at least 1 step, not {period}")
