"""Asking the rule whether an update is due, within what the budget allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from replan.execute.memory import Memory
from replan.schedule.budget import FIRST_UPDATE, clamp, decide, planned_decision
from replan.schedule.rule import Context, Decision, Knowledge, Rule, plans_ahead


def ask(rule: Rule, now: Memory, context_at: Callable[[int], Context], *, exact: bool) -> Decision:
    """The decision at this time. A rule that plans ahead is asked once for each update."""
    if now.time < FIRST_UPDATE:
        return Decision(False, "the first step is free")
    if now.last_update < FIRST_UPDATE:
        return Decision(True, "the first update")
    if now.last_update == now.time:
        return Decision(False, "just updated")
    if not plans_ahead(rule) or now.budget_left == 0:
        decision = decide(rule, context_at(now.time), exact=exact)
        if not isinstance(decision, Decision):
            raise TypeError(f"{rule.name} decided {decision!r}, not a Decision")
        return decision
    if now.planned_update is None:
        at_update = context_at(now.last_update)
        now.planned_update = clamp(rule.next_update(at_update), at_update, exact=exact)
    when = now.planned_update
    if now.time == when:
        return planned_decision(rule, context_at(when))
    return Decision(now.time >= when, f"planned at {now.last_update} for {when}")


@dataclass(frozen=True)
class Silent:
    """Stands in for a rule that failed: no update but those that the budget forces."""

    why: str

    name: ClassVar[str] = "silent"
    knows: ClassVar[Knowledge] = "nothing"
    uses_state: ClassVar[bool] = False
    paced: ClassVar[bool] = False

    def decide(self, context: Context) -> Decision:
        """Not now."""
        return Decision(False, self.why)
