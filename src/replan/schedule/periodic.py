"""`periodic`: updates at uniform spacings, rounded linspace(1, T-1, B) (the paper's Per.)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from replan.schedule.rule import Context, Decision, Need, Rule, register


@lru_cache(maxsize=64)
def periodic_times(horizon: int, budget: int) -> tuple[int, ...]:
    """Return the B rounded times."""
    return tuple(int(t) for t in np.round(np.linspace(1, horizon - 1, budget)))


def holds_time(times: tuple[int, ...], time: int) -> bool:
    """Return whether a time is among ascending ones."""
    place = bisect_left(times, time)
    return place < len(times) and times[place] == time


@register
@dataclass(frozen=True)
class Periodic(Rule):
    """Uniform spacings, whatever the drift."""

    name = "periodic"
    exact_budget = True
    needs = frozenset({Need.BUDGET})

    def decide(self, context: Context) -> Decision:
        """Update if the time is one of them."""
        due = holds_time(periodic_times(context.horizon, context.budget), context.time)
        return Decision(due, f"{context.time} is {'' if due else 'not '}one of the evenly spaced times")
