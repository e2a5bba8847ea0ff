"""`Follow`: a rule on a mission.

The nodes and walks of `replan.skip`, with the chances by which the rule takes them. Forwards they tell which
robots come to which decision, and what they gain and lose on the way there; backwards, what every start state
is worth. The rule is asked once for each decision and state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from replan.execute.mission import Mission, Progress
from replan.model.kernel import Array, Indices
from replan.schedule.questions import chances_now, next_updates
from replan.schedule.rule import Need, Rule, require_instance
from replan.skip.walks import NONE, Course
from replan.skip.ways import BlindWays, SeeingWays, Ways

Key = tuple[int, ...]


def ways_in_world(
    mission: Mission, *, tolerance: float = 0.0, losses: Array = NONE
) -> BlindWays | SeeingWays:
    """Return the ways of a mission's robot in its world.

    Blind walks drop probabilities below the tolerance; `losses` (T, S, A) are counted beside the reward.
    """
    sees = mission.robot.sees
    course = Course(
        horizon=mission.horizon,
        kernel=mission.world.kernel,
        reward=mission.world.reward,
        update=mission.update,
        durations=mission.latency.durations,
        compares=mission.robot.forecast.compares,
        tolerance=0.0 if sees else tolerance,
        losses=losses,
    )
    return SeeingWays(course) if sees else BlindWays(course)


@dataclass(frozen=True, eq=False)
class Visit:
    """Robots with the same books that go on from a decision, until the next one."""

    time: int
    """t of the decision."""
    progress: Progress
    """Their books after it."""
    updated: bool
    """Whether they have updated at t."""
    mass: Array = field(repr=False)
    """(S,) probability of being in each state and here."""
    gains: Array = field(repr=False)
    """(L,) expected reward of each step."""
    losses: Array = field(repr=False)
    """(L,) what is lost in each step."""


class Follow:
    """What a rule does on a mission; with other ways, what another robot would gain by the same decisions."""

    def __init__(self, mission: Mission, rule: Rule, ways: Ways | None = None) -> None:
        require_instance(rule)
        mission.require(rule)
        self.mission, self.rule = mission, rule
        self.ways = ways or ways_in_world(mission)
        self.by_state = Need.STATE in rule.needs
        self.everyone = np.arange(mission.world.states)
        self._answers: dict[tuple[str, int, Key], Array] = {}

    def next_chances(self, progress: Progress, states: Indices) -> Array:
        """(R, T + 1) probability of each next update of robots that saw (R,) states at the last; T: none."""
        return self._answer("next", progress.last_update, progress, states, next_updates)

    def chances_now(self, time: int, progress: Progress, states: Indices) -> Array:
        """(R,) probability of an update at a time of robots that are seen in (R,) states."""
        return self._answer("now", time, progress, states, partial(chances_now, time=time))

    def _answer(self, question: str, time: int, progress: Progress, states: Indices, ask) -> Array:
        key = question, time, progress.key(self.rule)
        known, missing = self._answers.get(key), np.ones(len(states), dtype=bool)
        if known is not None:
            missing = np.isnan(known[states].reshape(len(states), -1)[:, 0])
        if missing.any():
            asked = states[missing] if self.by_state else states[:1]
            answers = ask(self.rule, partial(self.mission.context, self.rule, progress), asked)
            if known is None:
                known = self._answers[key] = np.full((len(self.everyone), *answers.shape[1:]), np.nan)
            known[asked if self.by_state else slice(None)] = answers
        assert known is not None
        return known[states]

    def _due(self, time: int, progress: Progress) -> Array:
        """(S,) probability of an update at a time in every state."""
        if not progress.budget_left:
            return np.zeros(len(self.everyone))
        return self.chances_now(time, progress, self.everyone)

    def outcomes(self, progress: Progress, time: int) -> list[tuple[float, Progress]]:
        """Return the books after an update at a time, with the probability of each duration."""
        return [
            (chance, progress.after(new)) for chance, new in self.ways.course.outcomes(time, progress.update)
        ]

    def visits(self, mass: Array) -> Iterator[Visit]:
        """Yield every visit of robots that begin as (S,) mass, in the order of time."""
        horizon = self.mission.horizon
        asked = [_Arrivals(self.rule) for _ in range(horizon + 1)]
        decided = [_Arrivals(self.rule) for _ in range(horizon + 1)]
        decided[0].add(self.mission.beginning(), mass)
        for t in range(horizon):
            for progress, mass in asked[t].items():
                if progress.budget_left:
                    here = np.flatnonzero(mass)
                    leaving = np.zeros(len(mass))
                    leaving[here] = mass[here] * self.chances_now(t, progress, here)
                    if leaving.any():
                        for share, new in self.outcomes(progress, t):
                            decided[t].add(new, share * leaving)
                        mass = mass - leaving
                if mass.any():
                    yield self._walk(Visit(t, progress, False, mass, NONE, NONE), asked, decided)
            for progress, mass in decided[t].items():
                yield self._walk(Visit(t, progress, t > 0, mass, NONE, NONE), asked, decided)

    def _walk(self, visit: Visit, asked: list[_Arrivals], decided: list[_Arrivals]) -> Visit:
        """Return the visit with gains and losses, once its robots have come to their next decision."""
        time, progress = visit.time, visit.progress
        states = np.flatnonzero(visit.mass)
        walk = self.ways.walk(time, progress.update, states)
        moves = walk.push(visit.mass, self._chances(time, progress, states))
        for u, left in moves.leaving.items():
            if u < self.mission.horizon and left.any():
                for share, new in self.outcomes(progress, u):
                    decided[u].add(new, share * left)
        for u, seen in moves.seen.items():
            asked[u].add(progress, seen)
        return replace(visit, gains=moves.gains, losses=moves.losses)

    def _chances(self, time: int, progress: Progress, states: Indices) -> Array:
        """(R, T + 1) chances to leave a walk for an update (T: never); empty where robots are asked."""
        if self.ways.exits(time, progress.update):
            return self.next_chances(progress, states)
        chances = np.zeros(
            (len(states), 0 if self.ways.asked(time, progress.update) else self.mission.horizon + 1)
        )
        chances[:, -1:] = 1.0
        return chances

    def nodes(self) -> tuple[list[dict[Key, Progress]], list[dict[Key, Progress]]]:
        """Return by time the books with which robots from any start go on, and are asked."""
        horizon, rule = self.mission.horizon, self.rule
        going: list[dict[Key, Progress]] = [{} for _ in range(horizon)]
        asked: list[dict[Key, Progress]] = [{} for _ in range(horizon)]
        first = self.mission.beginning()
        going[0][first.key(rule)] = first
        for t in range(horizon):
            for key, progress in asked[t].items():
                due = self._due(t, progress)
                if (due < 1.0).any():
                    going[t][key] = progress
                for _, new in self.outcomes(progress, t) if due.any() else ():
                    going[t][new.key(rule)] = new
            for key, progress in going[t].items():
                chances = self._chances(t, progress, self.everyone)
                for u in np.flatnonzero(chances[:, :horizon].any(axis=0)).tolist():
                    for _, new in self.outcomes(progress, u):
                        going[u].setdefault(new.key(rule), new)
                for v in self.ways.asked(t, progress.update):
                    asked[v][key] = progress
        return going, asked

    def decisions(self) -> Iterator[tuple[int, Key, Array]]:
        """Yield time, books and chances of every decision that robots from any start can come to."""
        for t, (going, asked) in enumerate(zip(*self.nodes(), strict=True)):
            for key, progress in asked.items():
                yield t, key, self._due(t, progress)
            for key, progress in going.items():
                yield t, key, self._chances(t, progress, self.everyone)

    def returns(self) -> Array:
        """(S,) expected return from every start."""
        horizon, rule = self.mission.horizon, self.rule
        going, asked = self.nodes()
        values: dict[tuple[int, Key], Array] = {}
        decided: dict[tuple[int, Key], Array] = {}
        for t in range(horizon - 1, -1, -1):
            for key, progress in going[t].items():
                chances = self._chances(t, progress, self.everyone)
                worth = np.zeros((horizon + 1, len(self.everyone)))
                for u in np.flatnonzero(chances[:, :horizon].any(axis=0)).tolist():
                    for share, new in self.outcomes(progress, u):
                        worth[u] += share * values[u, new.key(rule)]
                walk = self.ways.walk(t, progress.update, self.everyone)
                ahead = {v: decided[v, key] for v in self.ways.asked(t, progress.update)} | {
                    horizon: worth[-1]
                }
                values[t, key] = walk.back_up(chances, worth, ahead.__getitem__)
            for key, progress in asked[t].items():
                due = self._due(t, progress)
                decided[t, key] = (1 - due) * values.get((t, key), 0.0)
                for share, new in self.outcomes(progress, t) if due.any() else ():
                    decided[t, key] += due * share * values[t, new.key(rule)]
        return values[0, self.mission.beginning().key(rule)]


class _Arrivals:
    """Books with which robots come to a decision, and where they are then."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._by_key: dict[Key, tuple[Progress, Array]] = {}

    def add(self, progress: Progress, mass: Array) -> None:
        """Add (S,) mass of robots with these books."""
        key = progress.key(self.rule)
        if key in self._by_key:
            mass = self._by_key[key][1] + mass
        self._by_key[key] = progress, mass

    def items(self) -> list[tuple[Progress, Array]]:
        """Return books and (S,) mass."""
        return list(self._by_key.values())
