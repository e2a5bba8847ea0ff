"""`drift-threshold`: update when the drift since the last update, plus a share of the pace, is large.

The paper's Drift, equations (drift accum) and (drift threshold score).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from replan.errors import InputError
from replan.schedule.budget import pacing_limit
from replan.schedule.rule import Context, Decision, Knowledge
from replan.schedule.score import compared, reaches, stale_drift


@dataclass(frozen=True)
class DriftThreshold:
    """Stale drift + pace_weight (t - tau) / L_t against the threshold."""

    threshold: float = 0.1
    pace_weight: float = 0.0  # c_pace; the paper does not print it

    name: ClassVar[str] = "drift-threshold"
    knows: ClassVar[Knowledge] = "nothing"
    uses_state: ClassVar[bool] = False
    paced: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.pace_weight >= 0:
            raise InputError(f"pace_weight must not be negative, not {self.pace_weight}")

    def decide(self, context: Context) -> Decision:
        """Whether the score has reached the threshold; the decision's terms add up to the score."""
        pace = self.pace_weight * (context.time - context.last_update) / pacing_limit(context)
        terms = {"drift": stale_drift(context), "pace": pace}
        score = sum(terms.values())
        due = reaches(score, self.threshold)
        parts = f"drift {terms['drift']:.4g} + pace {pace:.4g}"
        return Decision(due, compared(score, self.threshold, due, parts), score, self.threshold, terms)
