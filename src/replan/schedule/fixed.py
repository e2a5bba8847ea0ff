"""Update times given in advance."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from replan.model.kernel import Indices
from replan.schedule.periodic import holds_time
from replan.schedule.rule import Context, Decision, Rule


@dataclass(frozen=True)
class FixedTimes(Rule):
    """Update at these times."""

    times: tuple[int, ...]

    name = "fixed"

    def __init__(self, times: Sequence[int]) -> None:
        object.__setattr__(self, "times", tuple(sorted(int(t) for t in times)))

    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) the first of the times after the last update."""
        place = bisect_right(self.times, context.last_update)
        return np.full(len(states), self.times[place] if place < len(self.times) else context.horizon)

    def decide(self, context: Context) -> Decision:
        """Update if the time is one of them."""
        due = holds_time(self.times, context.time)
        return Decision(due, f"{context.time} is {'' if due else 'not '}an update time")
