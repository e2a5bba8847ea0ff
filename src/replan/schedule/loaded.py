"""`front-loaded` and `back-loaded`: the whole budget at the beginning or at the end.

The paper's Front and Back. Front is {1..B}: the paper's {1..B-1} has one update too few.
"""

from __future__ import annotations

from dataclasses import dataclass

from replan.schedule.rule import Context, Decision, Need, Rule, register


@register
@dataclass(frozen=True)
class FrontLoaded(Rule):
    """{1, ..., B}."""

    name = "front-loaded"
    exact_budget = True
    needs = frozenset({Need.BUDGET})

    def decide(self, context: Context) -> Decision:
        """Update at once, as long as the budget lasts."""
        return Decision(True, f"{context.time} is among the first {context.budget} times")


@register
@dataclass(frozen=True)
class BackLoaded(Rule):
    """{1, T-B+1, ..., T-1}."""

    name = "back-loaded"
    exact_budget = True
    needs = frozenset({Need.BUDGET})

    def decide(self, context: Context) -> Decision:
        """Update if only as many steps are left as updates."""
        last = context.budget - 1
        due = context.time >= context.horizon - last
        return Decision(due, f"{context.time} is {'' if due else 'not '}among the last {last} times")
