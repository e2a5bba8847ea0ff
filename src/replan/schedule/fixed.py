"""Update times given in advance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from replan.model.kernel import Indices
from replan.schedule.periodic import holds_time
from replan.schedule.rule import Context, Decision, Rule
from replan.schedule.spending import whole


@dataclass(frozen=True)
class FixedTimes(Rule):
    """Update at given times.

    Parameters
    ----------
    times : sequence of int
        Update times in ascending order.
    """

    times: tuple[int, ...]

    name = "fixed"

    def __init__(self, times: Sequence[int]) -> None:
        object.__setattr__(self, "times", tuple(whole(t, "an update time") for t in times))

    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) the first of the times after the last update; one that passed meanwhile is made up for."""
        first = context.earliest_update
        if first < context.horizon and holds_time(self.times, replace(context, time=first)):
            return np.full(len(states), first)
        time = next((t for t in self.times if t > context.last_update), context.horizon)
        return np.full(len(states), time)

    def decide(self, context: Context) -> Decision:
        """Update if the time is one of them."""
        due = holds_time(self.times, context)
        return Decision(due, f"{context.time} is {'' if due else 'not '}an update time")
