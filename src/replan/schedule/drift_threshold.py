"""`drift-threshold`, `self-triggered` and `LocalDrift`: update when the drift since the last update is large.

The first two are the paper's Drift, equations (drift accum) and (drift threshold score), and Self, equation
(self trigger). They add up epsilon_l, the largest change anywhere, since the estimate was made.

`LocalDrift` keeps the sum for every state and action, and only those count that the plan relies on: the most
likely way under the stale plan, from where the robot is taken to be now to H steps ahead. The sum ends at the
kernel that an update would reveal, P_{t-1}: what it cannot show is no reason for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from replan.errors import InputError, require_numbers
from replan.model.kernel import Array, Indices
from replan.schedule.navigation_triggers import believed_paths
from replan.schedule.rule import Context, Decision, Need, Rule, register
from replan.schedule.score import (
    TRIGGER_TOLERANCE,
    compared,
    paced,
    pacing_limit,
    reaches,
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
        due = reaches(score, self.threshold)
        parts = f"drift {terms['drift']:.4g} + pace {pace:.4g}"
        decision = Decision(due, compared(score, self.threshold, due, parts), score, self.threshold, terms)
        return paced(decision, context, limit)


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


@dataclass(frozen=True)
class UnforcedDrift(SelfTriggered):
    """As `self-triggered`, for a robot that may keep updates.

    It is not registered: name it `replan.schedule.drift_threshold:UnforcedDrift`.
    """

    name = "unforced-drift"
    exact_budget = False


@dataclass(frozen=True, eq=False)
class LocalDrift(Rule):
    """Update when the accumulated drift of some cell on the planned way reaches the threshold."""

    bounds: Array = field(repr=False)
    """(T-1, S, A) epsilon_t(s, a); the rule reads those of the past alone."""
    threshold: float
    """The drift of a cell at which the rule updates."""

    name = "local-drift"
    needs = frozenset({Need.STATE, Need.BUDGET})

    def __post_init__(self) -> None:
        if self.bounds.ndim != 3 or not (self.bounds >= 0).all():
            raise InputError(f"bounds must be (T-1, S, A) numbers of at least 0, not {self.bounds.shape}")
        if not self.threshold > 0:
            raise InputError(f"threshold must be above 0, not {self.threshold:g}")

    def decide(self, context: Context) -> Decision:
        """Update if the drift from P_{tau-1} to P_{t-1} on the way ahead reaches the threshold."""
        states, actions = planned_way(context)
        since = self.bounds[context.estimate_time : context.time - 1]
        drift = float(since[:, states, actions].sum(axis=0).max())
        due = drift >= self.threshold
        reason = f"drift on the planned way {'reached' if due else 'is below'} the threshold"
        decision = Decision(due, reason, score=drift, threshold=self.threshold, terms={"drift": drift})
        return paced(decision, context, pacing_limit(context))


def planned_way(context: Context) -> tuple[Indices, Indices]:
    """Return the likeliest states and actions of the stale plan from now to H steps ahead (or T)."""
    last = min(context.time + context.planning_horizon, context.horizon)
    path = believed_paths(context, np.array([context.state]), last - context.last_update - 1)[0]
    states = path[context.time - context.last_update :]
    return states, context.plan.policy[states]
