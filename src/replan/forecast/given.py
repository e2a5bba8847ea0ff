"""`given`: kernels of the future from outside, such as a weather forecast or a tide table.

In a built-in setting the given future is the true one. `ForecastFault` makes it wrong, for studies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from replan.errors import InputError
from replan.forecast.base import Evidence, Forecast, Future, KernelAt
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
        if self.late < 0:
            raise InputError(f"a forecast is late by 0 or more steps, not {self.late}")
        if not (np.isfinite(self.error) and np.isfinite(self.noise) and self.noise >= 0):
            raise InputError("the error of a forecast must be finite, its noise 0 or more")

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

    `kernels` is a function of time, or one kernel for each of the times 0, 1, ...; the last one is kept.
    """

    kernels: KernelAt | Sequence[Kernel] = field(repr=False)
    """t -> kernel, or a kernel for each of the times 0, 1, ..."""
    fault: ForecastFault = field(default_factory=ForecastFault)
    """Ways in which the forecast is wrong."""

    def __post_init__(self) -> None:
        if not callable(self.kernels) and not len(self.kernels):
            raise InputError("a given forecast needs at least one kernel")

    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return the one course."""
        return (Future("as given", 1.0, self.course(evidence)),)

    def sources(self, horizon: int) -> Iterable[Kernel]:
        """Return the given kernels."""
        return (self._right(t) for t in range(horizon))

    def course(self, evidence: Evidence) -> KernelAt:
        """t -> the kernel predicted at the update."""
        if self.fault == ForecastFault():
            return self._right
        return lru_cache(maxsize=None)(lambda t: self.fault.apply(self._right, evidence, t))

    def _right(self, time: int) -> Kernel:
        if callable(self.kernels):
            return self.kernels(time)
        return self.kernels[min(time, len(self.kernels) - 1)]
