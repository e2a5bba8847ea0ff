"""The schedule that a rule makes of a mission, with every decision on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.schedule.ask import decision_at, named_update
from replan.schedule.rule import Decision, Need, Rule


@dataclass(frozen=True)
class Timeline:
    """Update times and the decisions behind them."""

    times: tuple[int, ...]
    """Times of the updates."""
    decisions: tuple[tuple[int, Decision], ...] = field(repr=False)
    """(t, decision), as far as the rule was asked."""


def make_timeline(
    mission: Mission,
    rule: Rule,
    *,
    seed: int | None = None,
    explain: bool = True,
    only_updates: bool = False,
) -> Timeline:
    """Return the timeline of a rule that does not depend on the states seen, with the draws of `seed`.

    Without `explain` a rule that names its times is not asked to put them into numbers. With `only_updates`
    the decisions against an update are not kept, whose number grows with the horizon.
    """
    if Need.STATE in rule.needs:
        raise InputError(f"{rule.name} depends on the states seen: its times come from a rollout")
    start, progress = mission.world.start, mission.beginning()
    times: list[int] = []
    decisions: list[tuple[int, Decision]] = []
    while progress.budget_left:
        context = partial(mission.context, rule, progress, start)
        named = named_update(rule, context(), start, seed=seed)
        following = mission.horizon
        for t in range(context().earliest_update, mission.horizon) if named is None else [named]:
            if t == mission.horizon or (named is not None and not explain):
                following = t
                break
            decision = decision_at(rule, context(t), named)
            if decision.update or not only_updates:
                decisions.append((t, decision))
            if decision.update:
                following = t
                break
        if following == mission.horizon:
            break
        times.append(following)
        if len(times) < mission.limit:
            progress = mission.after(progress, following, seed=seed)
        else:
            break
    return Timeline(tuple(times), tuple(decisions))
