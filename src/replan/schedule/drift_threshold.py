"""`drift-threshold`: update when the drift since the last update, plus a share of the pace, is large.

The paper's Drift, equations (drift accum) and (drift threshold score).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from replan.errors import InputError
from replan.schedule.rule import Context, Decision, Need, Rule, register
from replan.schedule.score import compared, paced, pacing_limit, reaches, require_threshold, stale_drift

PACE_WEIGHTS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)
THRESHOLDS = (0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0)
"""Thresholds of drift to choose from where one must do for many worlds."""


@register
@dataclass(frozen=True)
class DriftThreshold(Rule):
    """Stale drift + pace_weight (t - tau) / L_t against the threshold."""

    threshold: float = 0.1
    """The score at which the rule updates."""
    pace_weight: float = 0.0
    """c_pace, weight of the pace; the paper does not print it."""

    name = "drift-threshold"
    exact_budget = True
    needs = frozenset({Need.DRIFT_SO_FAR, Need.BUDGET})

    def __post_init__(self) -> None:
        require_threshold(self.threshold)
        if not self.pace_weight >= 0:
            raise InputError(f"pace_weight must not be negative, not {self.pace_weight}")

    @classmethod
    def candidates(cls) -> list[DriftThreshold]:
        """Return rules with every threshold and every pace weight."""
        return [cls(threshold, weight) for weight, threshold in product(PACE_WEIGHTS, THRESHOLDS)]

    def decide(self, context: Context) -> Decision:
        """Update if the score reaches the threshold or at the pacing limit; the terms add up to it."""
        limit = pacing_limit(context)
        pace = self.pace_weight * (context.time - context.last_update) / limit
        terms = {"drift": stale_drift(context), "pace": pace}
        score = sum(terms.values())
        due = reaches(score, self.threshold)
        parts = f"drift {terms['drift']:.4g} + pace {pace:.4g}"
        decision = Decision(due, compared(score, self.threshold, due, parts), score, self.threshold, terms)
        return paced(decision, context, limit)
