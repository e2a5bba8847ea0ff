"""`local-drift`: update when the ground on the planned way has drifted, wherever else the world may have.

The paper's drift-threshold rule adds up epsilon_l, the largest change anywhere, since the estimate was
made. Here the sum is kept for every state and action, and only those count that the plan relies on: the
most likely way under the stale plan, from where the robot is taken to be now to H steps ahead. The sum ends
at the kernel that an update would reveal, P_{t-1}: what it cannot show is no reason for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, Indices
from replan.schedule.believed_path import believed_paths
from replan.schedule.rule import Context, Decision, Need, Rule
from replan.schedule.score import paced, pacing_limit


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
