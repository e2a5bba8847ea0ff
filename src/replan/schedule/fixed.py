"""Update times given in advance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from replan.schedule.rule import Context, Decision, Knowledge


@dataclass(frozen=True)
class FixedTimes:
    """Update at these times."""

    times: tuple[int, ...]

    name: ClassVar[str] = "fixed"
    knows: ClassVar[Knowledge] = "nothing"
    uses_state: ClassVar[bool] = False
    paced: ClassVar[bool] = False

    def __init__(self, times: Sequence[int]) -> None:
        object.__setattr__(self, "times", tuple(int(t) for t in times))

    def next_update(self, context: Context) -> int:
        """The first of the times after the last update."""
        return next((t for t in self.times if t > context.last_update), context.horizon)

    def decide(self, context: Context) -> Decision:
        """Whether the time is one of them."""
        due = context.time in self.times
        return Decision(due, f"{context.time} is {'' if due else 'not '}an update time")
