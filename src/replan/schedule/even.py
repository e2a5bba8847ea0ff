"""`even`: updates that split the horizon into B + 1 equal parts, for robots that see where they are.

The paper's `periodic` spends its first update at 1 and its last at T - 1, where a robot that sees its state
learns next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from replan.schedule.periodic import holds_time
from replan.schedule.rule import Context, Decision, Need, Rule, register


@lru_cache(maxsize=64)
def even_times(horizon: int, budget: int) -> tuple[int, ...]:
    """Return rint(linspace(0, T, B + 2)[1:-1])."""
    return tuple(int(t) for t in np.rint(np.linspace(0, horizon, budget + 2)[1:-1]))


@register
@dataclass(frozen=True)
class Even(Rule):
    """B times that split the horizon into equal parts."""

    name = "even"
    needs = frozenset({Need.BUDGET})

    def decide(self, context: Context) -> Decision:
        """Update if the time is one of them."""
        due = holds_time(even_times(context.horizon, context.budget), context)
        return Decision(due, f"{context.time} is {'' if due else 'not '}one of the evenly spaced times")
