"""`periodic`: updates at uniform spacings, rounded linspace(1, T-1, B) (the paper's Per.)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from replan.schedule.rule import Context, Decision, Need, Rule, register


@lru_cache(maxsize=64)
def periodic_times(horizon: int, budget: int) -> tuple[int, ...]:
    """Return the B rounded times."""
    return tuple(int(t) for t in np.round(np.linspace(1, horizon - 1, budget)))


def holds_time(times: Sequence[int], context: Context) -> bool:
    """Return whether one of ascending update times is now, or passed while an update was running."""
    place = bisect_right(times, context.time)
    if place and times[place - 1] == context.time:
        return True
    return context.spending.spacing > 1 and place > context.budget - context.budget_left


@register
@dataclass(frozen=True)
class Periodic(Rule):
    """Uniform spacings, whatever the drift."""

    name = "periodic"
    exact_budget = True
    needs = frozenset({Need.BUDGET})

    def decide(self, context: Context) -> Decision:
        """Update if the time is one of them."""
        due = holds_time(periodic_times(context.horizon, context.budget), context)
        return Decision(due, f"{context.time} is {'' if due else 'not '}one of the evenly spaced times")
