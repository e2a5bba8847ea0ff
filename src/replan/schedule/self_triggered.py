"""`self-triggered`: at an update, schedule the next one where the forecast drift reaches a threshold.

The paper's Self, equation (self trigger).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from replan.schedule.rule import Context, Decision, Knowledge
from replan.schedule.score import TRIGGER_TOLERANCE, compared, reaches, stale_drift


@dataclass(frozen=True)
class SelfTriggered:
    """The first t > tau whose stale drift reaches the threshold, known from the drift profile."""

    threshold: float = 0.1

    name: ClassVar[str] = "self-triggered"
    knows: ClassVar[Knowledge] = "drift profile"
    uses_state: ClassVar[bool] = False
    paced: ClassVar[bool] = False

    def next_update(self, context: Context) -> int:
        """The scheduled time; T where the drift never reaches the threshold."""
        tau, T = context.last_update, context.horizon
        drift = np.cumsum(context.drift_bounds[tau - 1 :])[1:]  # of t = tau + 1, ..., T - 1
        reached = np.flatnonzero(drift >= self.threshold - TRIGGER_TOLERANCE)
        return tau + 1 + int(reached[0]) if reached.size else T

    def decide(self, context: Context) -> Decision:
        """The same in numbers, at any time since."""
        drift = stale_drift(context)
        due = reaches(drift, self.threshold)
        reason = compared(drift, self.threshold, due, "forecast drift")
        return Decision(due, reason, drift, self.threshold, {"drift": drift})

    explain = decide
