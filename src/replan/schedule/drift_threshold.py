"""`drift-threshold` and `self-triggered`: update when the drift since the last update is large.

The paper's Drift, equations (drift accum) and (drift threshold score), and Self, equation (self trigger).
They add up epsilon_l, the largest change anywhere, since the estimate was made.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from replan.errors import InputError, require_numbers
from replan.model.kernel import Indices
from replan.schedule.rule import Context, Decision, Need, Rule, register
from replan.schedule.score import (
    TRIGGER_TOLERANCE,
    compared,
    paced,
    pacing_limit,
    require_threshold,
    stale_drift,
)

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
        require_numbers(pace_weight=self.pace_weight)
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
        parts = f"drift {terms['drift']:.4g} + pace {pace:.4g}"
        return paced(compared(score, self.threshold, parts, terms), context, limit)


@register
@dataclass(frozen=True)
class SelfTriggered(Rule):
    """The first t > tau whose stale drift reaches the threshold, known from the drift profile."""

    threshold: float = 0.1
    """The forecast drift at which the rule updates."""
    exact_budget: bool = True
    """Whether localised robots too must spend all of an exact budget."""

    name = "self-triggered"
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
        return compared(drift, self.threshold, "forecast drift", {"drift": drift})
