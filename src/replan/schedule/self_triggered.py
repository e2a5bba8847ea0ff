"""`self-triggered`: at an update, schedule the next one where the forecast drift reaches a threshold.

The paper's Self, equation (self trigger).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan.model.kernel import Indices
from replan.schedule.drift_threshold import THRESHOLDS
from replan.schedule.rule import Context, Decision, Need, Rule, register
from replan.schedule.score import TRIGGER_TOLERANCE, compared, reaches, require_threshold, stale_drift


@register
@dataclass(frozen=True)
class SelfTriggered(Rule):
    """The first t > tau whose stale drift reaches the threshold, known from the drift profile."""

    threshold: float = 0.1
    """The forecast drift at which the rule updates."""

    name = "self-triggered"
    exact_budget = True
    needs = frozenset({Need.DRIFT_AHEAD})

    def __post_init__(self) -> None:
        require_threshold(self.threshold)

    @classmethod
    def candidates(cls) -> list[SelfTriggered]:
        """Return one rule for each threshold of drift."""
        return [cls(threshold) for threshold in THRESHOLDS]

    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) the scheduled time; T if the drift never reaches the threshold."""
        tau, T = context.last_update, context.horizon
        sums = context.drift.sums
        reached = int(np.searchsorted(sums, sums[context.estimate_time] + self.threshold - TRIGGER_TOLERANCE))
        return np.full(len(states), min(max(reached, tau + 1), T))

    def decide(self, context: Context) -> Decision:
        """Compare the drift since the last update with the threshold."""
        drift = stale_drift(context)
        due = reaches(drift, self.threshold)
        reason = compared(drift, self.threshold, due, "forecast drift")
        return Decision(due, reason, drift, self.threshold, {"drift": drift})
