"""Update times given in advance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from replan.model.kernel import Indices
from replan.schedule.rule import Context, Decision, Rule


@dataclass(frozen=True)
class FixedTimes(Rule):
    """Update at these times, or look at them and plan at others."""

    times: tuple[int, ...]
    """Update times; times of looks if `plans` is given."""
    plans: tuple[int, ...]
    """Times of plans; the same as `times` if they are not given."""

    name = "fixed"

    def __init__(self, times: Sequence[int], plans: Sequence[int] | None = None) -> None:
        object.__setattr__(self, "times", tuple(int(t) for t in times))
        object.__setattr__(self, "plans", self.times if plans is None else tuple(int(t) for t in plans))

    def next_update(self, context: Context, states: Indices) -> Indices | None:
        """(R,) the first of the times after the last update; None where looks and plans differ."""
        if self.times != self.plans:
            return None
        time = next((t for t in self.times if t > context.last_update), context.horizon)
        return np.full(len(states), time)

    def decide(self, context: Context) -> Decision:
        """Update if the time is one of them."""
        look, plan = context.time in self.times, context.time in self.plans
        due = look or plan
        reason = f"{context.time} is {'' if due else 'not '}an update time"
        return Decision(due, reason, look=look, plan=plan)
