"""`given`: kernels of the future from outside, such as a weather forecast or a tide table.

An ensemble, such as the members of a weather service, is given as several courses of equal weight.
In a built-in setting the given future is the true one. `ForecastFault` makes it wrong, for studies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial

import numpy as np

from replan.errors import InputError, require, require_finite, require_whole
from replan.forecast.base import Evidence, Forecast, Future, KernelAt, mean_kernel
from replan.model.combination import combine
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Kernel


@dataclass(frozen=True)
class ForecastFault:
    """Ways in which a given forecast is wrong, applied in this order."""

    late: int = 0
    """The kernel predicted for t is that of max(t - late, tau - 1)."""
    error: float = 0.0
    """The change predicted since the update is (1 + error) times that."""
    noise: float = 0.0
    """Every entry is multiplied by exp(noise N), N standard normal and the same for a time at all updates."""
    seed: int = 0
    """Seed of the noise."""

    def __post_init__(self) -> None:
        require_whole(late=self.late, seed=self.seed)
        faults = {"the error of a forecast": self.error, "the noise of a forecast": self.noise}
        require_finite(**faults)
        if self.late < 0:
            raise InputError(f"a forecast is late by 0 or more steps, not {self.late}")
        if self.noise < 0:
            raise InputError(f"the noise of a forecast must be 0 or more, not {self.noise}")
        if self.seed < 0:
            raise InputError(f"the seed of a forecast's noise must be 0 or more, not {self.seed}")

    def apply(self, kernel: KernelAt, evidence: Evidence, time: int) -> Kernel:
        """Return the prediction for `time` if `kernel` is right."""
        predicted = kernel(max(time - self.late, evidence.since) if self.late else time)
        if self.error:
            predicted = combine([predicted, evidence.kernel], [1 + self.error, -self.error])
        if self.noise:
            lists = predicted.general()
            draw = np.random.default_rng((self.seed, time)).standard_normal(lists.probabilities.shape)
            noisy = lists.probabilities * np.exp(self.noise * draw)
            predicted = GeneralKernel.of_merged(lists.successors, noisy / noisy.sum(axis=2, keepdims=True))
        return predicted


@dataclass(frozen=True)
class Given(Forecast):
    """Expect the given kernels.

    `kernels` is a function of time, or one kernel for each of the times 0, 1, ...; the last one is kept. The
    further `members` of an ensemble have the same form.
    """

    kernels: KernelAt | Sequence[Kernel] = field(repr=False)
    """t -> kernel, or a kernel for each of the times 0, 1, ..."""
    fault: ForecastFault = field(default_factory=ForecastFault)
    """Ways in which the forecast is wrong."""
    members: tuple[KernelAt | Sequence[Kernel], ...] = field(default=(), repr=False)
    """Further courses, as likely as `kernels`."""

    def __post_init__(self) -> None:
        require(ForecastFault, fault=self.fault)
        require(tuple, members=self.members)
        for course in (self.kernels, *self.members):
            if callable(course):
                continue
            if (
                not isinstance(course, Sequence)
                or not len(course)
                or not all(isinstance(kernel, Kernel) for kernel in course)
            ):
                raise InputError("a given forecast needs at least one kernel, and nothing else")

    @property
    def reveals(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether an update tells which of several futures has come: not which member of an ensemble."""
        return not self.members

    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return the one course, or one for each member."""
        if not self.members:
            return (Future("as given", 1.0, self.course(evidence)),)
        share = 1 / (1 + len(self.members))
        return tuple(
            Future(f"as given by member {number}", share, self._wrong(each, evidence))
            for number, each in enumerate(self._courses, start=1)
        )

    def sources(self, horizon: int) -> Iterable[Kernel] | None:
        """Return the given kernels; None where noise is drawn for all states."""
        return None if self.fault.noise else (each(t) for each in self._courses for t in range(horizon))

    def within(self, restrict: Callable[[Kernel], Kernel]) -> Given:
        """Return the given kernels on a part of the states."""
        first, *others = [partial(_restricted, restrict, course) for course in self._courses]
        return replace(self, kernels=first, members=tuple(others))

    def course(self, evidence: Evidence) -> KernelAt:
        """t -> the kernel predicted at the update, the mean of an ensemble."""
        if self.members:
            return mean_kernel(self.futures(evidence))
        return self._wrong(self._courses[0], evidence)

    @cached_property
    def _courses(self) -> tuple[KernelAt, ...]:
        """The courses as functions of time, the same at all updates."""
        return tuple(
            each if callable(each) else partial(_listed, each) for each in (self.kernels, *self.members)
        )

    def _wrong(self, right: KernelAt, evidence: Evidence) -> KernelAt:
        """t -> the kernel predicted at the update, where one course is right but for the faults."""
        if self.fault == ForecastFault():
            return right
        return lru_cache(maxsize=None)(lambda t: self.fault.apply(right, evidence, t))


def _listed(kernels: Sequence[Kernel], t: int) -> Kernel:
    """Return the kernel of time t; the last one is kept."""
    return kernels[min(t, len(kernels) - 1)]


def _restricted(restrict: Callable[[Kernel], Kernel], course: KernelAt, t: int) -> Kernel:
    return restrict(course(t))
