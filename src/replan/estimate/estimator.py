"""What the agent learns at an update: the interface of every estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from replan.model.kernel import Kernel


@dataclass(frozen=True)
class Observation:
    """What one update reveals: the state, and where given the transition that led to it."""

    time: int  # t of the update
    state: int  # s_t
    previous_state: int | None = None  # s_{t-1}
    previous_action: int | None = None  # a_{t-1}
    commanded: tuple[int, ...] = ()  # every action since the last update (or the start), a_{t-1} last


class Estimator(Protocol):
    """Turns what updates reveal into a kernel to plan with, the paper's P-hat_{t-1}."""

    def estimate(self, observation: Observation) -> Kernel:
        """The kernel to plan with at observation.time, all earlier observations included."""
        ...

    def save(self) -> dict[str, np.ndarray]:
        """All that was learned, as arrays."""
        ...

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take up what `save` gave."""
        ...
