"""The schedule that a rule makes of a mission, with every decision on the way."""

from __future__ import annotations

from dataclasses import dataclass, field

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.schedule.budget import FIRST_UPDATE, next_update
from replan.schedule.rule import Decision, Rule, draws


@dataclass(frozen=True)
class Timeline:
    """Update times, and why each of them and why not the others."""

    times: tuple[int, ...]
    decisions: tuple[tuple[int, Decision], ...] = field(
        repr=False
    )  # (t, decision), as far as the rule was asked


def timeline(mission: Mission, rule: Rule, *, explain: bool = True) -> Timeline:
    """The timeline of a rule that does not depend on the states seen; of a random rule, take with_seed."""
    if rule.uses_state:
        raise InputError(f"{rule.name} depends on the states seen: its times come from a rollout")
    if draws(rule):
        raise InputError(f"{rule.name} draws its times: take its with_seed")
    time, left = FIRST_UPDATE, mission.budget - 1
    times, earlier = [time], 0
    decisions = [(time, Decision(True, "the first update is at 1"))]
    while left:
        context_at = mission.context_at(
            rule, last_update=time, earlier_update=earlier, budget_left=left, state=mission.world.start
        )
        earlier = time
        time, asked = next_update(rule, context_at, exact=mission.exact_budget, explain=explain)
        decisions += asked
        if time == mission.horizon:
            break
        times.append(time)
        left -= 1
    return Timeline(tuple(times), tuple(decisions))
