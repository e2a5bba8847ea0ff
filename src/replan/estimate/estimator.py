"""Interface of estimators: from what an update reveals to a kernel. The simplest is told the true one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from replan.model.kernel import Kernel
from replan.model.tvmdp import TVMDP


@dataclass(frozen=True)
class Observation:
    """A look at the state, with the transition that led to it where it was seen."""

    time: int  #: t of the update
    state: int  #: s_t
    previous_state: int | None = None  #: s_{t-1}, where it was seen
    previous_action: int | None = None  #: a_{t-1}
    commanded: tuple[int, ...] = ()  #: every action since the last update or the start, a_{t-1} last


class Estimator(Protocol):
    """Estimates the kernel to plan with, the paper's P-hat_{t-1}."""

    def estimate(self, observation: Observation) -> Kernel:
        """Learn from an observation and return the kernel to plan with at its time."""
        ...

    def save(self) -> dict[str, np.ndarray]:
        """Return all that was learned, as arrays."""
        ...

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Continue from the arrays of `save`."""
        ...


@dataclass(frozen=True)
class TrueKernel:
    """P-hat_{t-1} = P_{t-1}, as in the paper's controlled simulator: the true kernel of the step before."""

    world: TVMDP

    def estimate(self, observation: Observation) -> Kernel:
        """The true kernel of the last transition."""
        return self.world.kernel(max(observation.time - 1, 0))

    def save(self) -> dict[str, np.ndarray]:
        """Nothing: nothing is learned."""
        return {}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Nothing."""
