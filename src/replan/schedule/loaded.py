"""`front-loaded` and `back-loaded`: the whole budget at the beginning or at the end.

The paper's Front and Back. Front is {1..B}: the paper's {1..B-1} has one update too few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from replan.schedule.rule import Context, Decision, Knowledge


@dataclass(frozen=True)
class FrontLoaded:
    """{1, ..., B}."""

    name: ClassVar[str] = "front-loaded"
    knows: ClassVar[Knowledge] = "nothing"
    uses_state: ClassVar[bool] = False
    paced: ClassVar[bool] = False

    def decide(self, context: Context) -> Decision:
        """At once, as long as the budget lasts."""
        return Decision(True, f"{context.time} is among the first {context.budget} times")


@dataclass(frozen=True)
class BackLoaded:
    """{1, T-B+1, ..., T-1}."""

    name: ClassVar[str] = "back-loaded"
    knows: ClassVar[Knowledge] = "nothing"
    uses_state: ClassVar[bool] = False
    paced: ClassVar[bool] = False

    def decide(self, context: Context) -> Decision:
        """Whether only as many steps are left as updates."""
        last = context.budget - 1
        due = context.time >= context.horizon - last
        return Decision(due, f"{context.time} is {'' if due else 'not '}among the last {last} times")
