"""Interface of forecasts: from what is known at an update to the kernels expected from then on.

The paper's robot expects that nothing moves (`Frozen`). A forecast names one or several futures with weights;
plan and propagation use their weighted mean kernel, look-ahead averages the worth of a candidate time over
them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import ROW_TOLERANCE, Estimator, validate_kernel
from replan.model.combination import combine
from replan.model.kernel import Array, Kernel, constant
from replan.model.world import Knowledge

KernelAt = Callable[[int], Kernel]
"""t -> the kernel expected at t."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that a forecast can see, at an update at `time`."""

    time: int
    """tau; 0: the free plan before the first update."""
    horizon: int
    """T."""
    kernel: Kernel = field(repr=False)
    """The estimate made at tau, of the kernel of tau - 1."""
    nominal: Kernel = field(repr=False)
    """The kernel of t = 0."""
    drift_bounds: Array = field(repr=False)
    """(t,) epsilon_0..epsilon_{t-1}: at the update t = tau, later when a rule reconsiders."""
    earlier: tuple[int, Kernel] | None = field(default=None, repr=False)
    """Time and estimate of the update before, None if there was none."""
    learned: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    """Arrays of the estimator right after the estimate, for forecasts that continue from them."""

    @property
    def since(self) -> int:
        """The time of which the estimate is: tau - 1, or 0."""
        return max(self.time - 1, 0)


@dataclass(frozen=True, eq=False)
class Future:
    """One expectation of how the world goes on."""

    name: str
    """Name in words, for the terms of a decision."""
    weight: float
    """Probability of this future; the weights of all futures add up to 1."""
    kernel: KernelAt = field(repr=False)
    """t -> the kernel expected at t, from tau on."""
    planned: bool = True
    """Whether plans are made for it; if not, it counts only in look-ahead."""

    def stays(self, kernel: Kernel, begin: int, horizon: int) -> bool:
        """Return whether it never leaves a kernel."""
        return all(self.kernel(t) is kernel for t in range(begin, horizon))


class Forecast(ABC):
    """Base class of forecasts. Subclasses are frozen dataclasses."""

    name: ClassVar[str]
    """Name of the forecast; the default is that of the class in lower case with hyphens."""
    compares: bool = False
    """Whether the futures depend on the update before the last one."""
    moves: bool = True
    """Whether the expected kernels may differ from the estimate."""
    continues: bool = False
    """Whether the futures depend on all that the estimator has learned (`Evidence.learned`)."""
    reveals: bool = True
    """Whether an update tells which of several futures has come; if not, it shows the present kernel only."""
    reconsiders: bool = False
    """Whether drift bounds that come in after an update can surprise, see `surprise`."""

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()

    @abstractmethod
    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return the futures from evidence.time on; their weights add up to 1."""

    def sources(self, horizon: int) -> Iterable[Kernel] | None:
        """Return kernels that lead, with the estimates, to every state that an expected kernel leads to.

        On large grids they tell how far the expected moves go. The default, None, stands for unknown.
        """
        return None

    def informed_by(self, knowledge: Knowledge, estimator: Estimator | None) -> Forecast:
        """Return the forecast of a robot that knows this and learns with this estimator.

        The default is the same forecast. Raises `InputError` if something is missing that it needs.
        """
        return self

    def within(self, restrict: Callable[[Kernel], Kernel]) -> Forecast:
        """Return the forecast on a part of the states, to which `restrict` cuts a kernel.

        The default is the same forecast: what it needs it is told by the knowledge of that part.
        """
        return self

    def surprise(self, drift_bounds: Array, update: int, horizon: int) -> int:
        """Return the last time at which the (t,) bounds were not as expected at an update; `horizon` is T.

        The default, the time of the update itself, never has a rule reconsider.
        """
        return update


@dataclass(frozen=True)
class Frozen(Forecast):
    """Nothing moves, as the paper's robot believes."""

    moves = False

    def sources(self, horizon: int) -> Iterable[Kernel]:
        """Return no kernels: the estimates are all."""
        return ()

    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return the estimate, held fixed."""
        return (Future("stays", 1.0, constant(evidence.kernel)),)


def validate_futures(futures: Sequence[Future], nominal: Kernel) -> tuple[Future, ...]:
    """Return the futures with kernels that are validated when they are asked for, or raise `InputError`.

    Their weights must add up to 1, and a plan must be made for at least one of them.
    """
    if not isinstance(futures, (tuple, list)) or not all(isinstance(each, Future) for each in futures):
        raise InputError(f"the forecast returned {type(futures).__name__}, not futures")
    weights = np.array([each.weight for each in futures], dtype=float)
    if not ((weights >= 0).all() and abs(weights.sum() - 1) <= ROW_TOLERANCE):
        raise InputError(f"the weights of the forecast's futures do not add up to 1: {weights.tolist()}")
    if not any(each.planned and each.weight > 0 for each in futures):
        raise InputError("the forecast has no future that plans are made for")
    return tuple(replace(each, kernel=_validated(each.kernel, nominal)) for each in futures)


def _validated(expected: KernelAt, nominal: Kernel) -> KernelAt:
    """t -> the expected kernel, validated once."""
    known: dict[int, tuple[Kernel, Kernel]] = {}

    def at(t: int) -> Kernel:
        kernel = expected(t)
        if t not in known or known[t][0] is not kernel:
            known[t] = kernel, validate_kernel(kernel, like=nominal, origin="forecast")
        return known[t][1]

    return at


def mean_kernel(futures: Sequence[Future]) -> KernelAt:
    """t -> the weighted mean of the kernels expected at t, in the futures that plans are made for."""
    planned = [future for future in futures if future.planned]
    if len(planned) == 1:
        return planned[0].kernel
    weights = np.array([future.weight for future in planned])
    shares = weights / weights.sum()
    return lru_cache(maxsize=None)(lambda t: combine([future.kernel(t) for future in planned], shares))
