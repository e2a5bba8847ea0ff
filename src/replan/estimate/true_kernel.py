"""The paper's controlled simulator: an update reveals the true kernel of the step before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan.estimate.estimator import Observation
from replan.model.kernel import Kernel
from replan.model.tvmdp import TVMDP


@dataclass(frozen=True)
class TrueKernel:
    """P-hat_{t-1} = P_{t-1}."""

    world: TVMDP

    def estimate(self, observation: Observation) -> Kernel:
        """The true kernel of the last transition."""
        return self.world.kernel(max(observation.time - 1, 0))

    def save(self) -> dict[str, np.ndarray]:
        """Nothing: nothing is learned."""
        return {}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Nothing."""
