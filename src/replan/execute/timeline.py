"""The schedule that a rule makes of a mission, with every decision on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.schedule.ask import decision_at, named_update
from replan.schedule.budget import FIRST_UPDATE, Kind
from replan.schedule.rule import Decision, Need, Rule


@dataclass(frozen=True)
class Timeline:
    """Update times and the decisions behind them."""

    made: tuple[tuple[int, Kind], ...]
    """(t, kind) of every update."""
    decisions: tuple[tuple[int, Decision], ...] = field(repr=False)
    """(t, decision), as far as the rule was asked."""

    @property
    def times(self) -> tuple[int, ...]:
        """Times of looks and plans."""
        return tuple(time for time, _ in self.made)

    def times_of(self, part: Kind) -> tuple[int, ...]:
        """Return the times of looks, or of plans."""
        return tuple(time for time, kind in self.made if part in kind)


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
    spend_all, start, progress = mission.config.must_spend, mission.world.start, mission.beginning()
    made: list[tuple[int, Kind]] = []
    decisions: list[tuple[int, Decision]] = []
    if mission.prices is None:
        made.append((FIRST_UPDATE, Kind.BOTH))
        decisions.append((FIRST_UPDATE, Decision(True, "the first update is at 1")))
    while not made or progress.left_after(made[-1][1]):
        if made:
            progress = mission.after(progress, *made[-1])
        context = partial(mission.context, rule, progress, start)
        named = named_update(rule, context(), start, seed=seed, spend_all=spend_all)
        following, kind = mission.horizon, context().kinds_left
        for t in range(progress.last_update + 1, mission.horizon) if named is None else [named]:
            if t == mission.horizon or (named is not None and not explain):
                following = t
                break
            decision = decision_at(rule, context(t), named, spend_all=spend_all)
            if decision.update or not only_updates:
                decisions.append((t, decision))
            if decision.update:
                following, kind = t, decision.kind
                break
        if following == mission.horizon:
            break
        made.append((following, kind))
    return Timeline(tuple(made), tuple(decisions))
