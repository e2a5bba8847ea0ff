"""Every step that a robot may take, with its probability, from update to update.

A rule gives the distribution of the next update (`UpdateTimes`); between updates robots that know the same
are pushed together (`visits`).

From an update on the actions of a blind robot are settled. Robots with the same remaining actions and the
same chances of the next update can therefore be pushed as one distribution, and have one value in every
state: exact evaluation works on such groups in place of robots.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter

import numpy as np

from replan.execute.mission import Mission
from replan.execute.task import Key, Progress
from replan.model.kernel import Array, Indices
from replan.model.sizes import require_memory
from replan.planning.followed import FollowedStep
from replan.schedule.ask import next_updates
from replan.schedule.rule import Need, Rule, require_instance
from replan.skip.propagation import SkipStep, skip_interval
from replan.skip.segments import commands

NO_GROUP = UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class GroupedStep:
    """The G groups of one step, from `time` to `time` + 1."""

    time: int
    """t."""
    actions: Indices = field(repr=False)
    """(G,) taken in this step."""
    leaving: Array = field(repr=False)
    """(G,) probability of an update at t + 1, given none before."""
    following: Indices = field(repr=False)
    """(G,) group of the next step; -1 for those that all leave."""


@dataclass(frozen=True, eq=False)
class RemainingActions:
    """R robots after an update, grouped at every step until their next update."""

    mission: Mission
    first: Indices = field(repr=False)
    """(R,) group of each robot in the first step."""
    groups: tuple[GroupedStep, ...] = field(repr=False)
    """One for each step from the update on."""

    @classmethod
    def of(cls, mission: Mission, progress: Progress, states: Indices, chances: Array) -> RemainingActions:
        """Group robots that saw (R,) states, given (R, T + 1) chances of their next update."""
        begin, end = progress.last_update, int(np.flatnonzero(chances.any(axis=0))[-1])
        actions = settled_actions(mission, progress, states)
        remaining = chances[:, ::-1].cumsum(axis=1)[:, ::-1]
        following, groups = np.full(len(states), NO_GROUP), []
        for t in range(end - 1, begin - 1, -1):
            here = remaining[:, t + 1] > 0
            left = np.divide(chances[:, t + 1], remaining[:, t + 1], out=np.zeros(len(here)), where=here)
            following = np.where(left < 1.0, following, NO_GROUP)
            keys = np.stack([actions[:, t - begin], left, following], axis=1)[here]
            (taken, leaving, later), index = _distinct(keys)
            groups.append(GroupedStep(t, taken.astype(np.int64), leaving, later.astype(np.int64)))
            following = np.full(len(states), NO_GROUP)
            following[here] = index
        return cls(mission, following, tuple(groups[::-1]))

    def steps(self, states: Indices, share: Array) -> Iterator[tuple[SkipStep, Array, Array]]:
        """Yield every step, with (G,) the probability of its groups and of their update right after it.

        `states` (R,) are those seen at the update, `share` (R,) their probabilities.
        """
        world = self.mission.world
        weight = np.bincount(self.first, weights=share)
        before = np.zeros((len(weight), world.states))
        np.add.at(before, (self.first, states), share / weight[self.first])
        for group in self.groups:
            kernel, reward = world.kernel(group.time), world.reward(group.time)
            after = kernel.push(before, group.actions)
            gained = reward.along(before, group.actions, after)
            leaving = weight * group.leaving
            yield SkipStep(group.time, group.actions, before, after, gained), weight, leaving
            before, weight = _merged(after, weight - leaving, group.following)

    def values(self, updated: Callable[[int], Array], step: Callable[[int, int], FollowedStep]) -> Array:
        """(R,) expected return of robots that saw all R states.

        `updated` gives (S,) the return from an update at t on, `step` the step of one action at t.
        """
        states = np.arange(self.mission.world.states)
        values = np.zeros((0, len(states)))
        for group in self.groups[::-1]:
            ahead = np.zeros((len(group.actions), len(states)))
            if group.leaving.any() and group.time + 1 < self.mission.horizon:
                ahead += group.leaving[:, None] * updated(group.time + 1)
            goes_on = group.following >= 0
            ahead[goes_on] += (1 - group.leaving[goes_on, None]) * values[group.following[goes_on]]
            values = np.empty_like(ahead)
            for action in np.unique(group.actions):
                rows = group.actions == action
                values[rows] = step(group.time, int(action)).backup(ahead[rows].T).T
        return values[self.first, states]


def settled_actions(mission: Mission, progress: Progress, states: Indices) -> Indices:
    """(R, L) actions of robots that saw (R,) states at the last update, kept with the update in force."""
    begin, steps = progress.last_update, mission.horizon - progress.last_update
    known = progress.update.cache.setdefault(
        (settled_actions, begin), np.full((mission.world.states, steps), UNKNOWN, dtype=np.int16)
    )
    if len(missing := states[known[states, 0] == UNKNOWN]):
        known[missing] = commands(
            progress.update.propagation, missing, begin=begin, steps=steps, tolerance=0.0
        )
    return known[states]


def _distinct(keys: Array) -> tuple[Array, Indices]:
    """Return the distinct rows of (R, 3) `keys`, transposed, and (R,) which of them each row is."""
    order = np.lexsort(keys.T)
    is_new = np.ones(len(keys), dtype=bool)
    is_new[1:] = (keys[order][1:] != keys[order][:-1]).any(axis=1)
    index = np.empty(len(keys), dtype=np.int64)
    index[order] = is_new.cumsum() - 1
    return keys[order][is_new].T, index


def _merged(after: Array, weight: Array, following: Indices) -> tuple[Array, Array]:
    """Return the (G', S) mean distributions of the groups that `following` names, and (G',) their weights."""
    rows = np.flatnonzero(following >= 0)
    rows = rows[np.argsort(following[rows], kind="stable")]
    if not len(rows):
        return after[:0], weight[:0]
    starts = np.flatnonzero(np.diff(following[rows], prepend=-1))
    total = np.add.reduceat(weight[rows], starts)
    if len(starts) == len(rows):
        return after[rows], total
    return np.add.reduceat(after[rows] * weight[rows, None], starts, axis=0) / total[:, None], total


ARRAYS_AT_ONCE = 5
"""Arrays of `Sizes.rows_at_once` distributions that a step of exact evaluation holds."""


class UpdateTimes:
    """Distributions of the next update time: a rule is asked once for each update and state."""

    def __init__(self, mission: Mission, rule: Rule) -> None:
        require_instance(rule)
        self.mission, self.rule = mission, rule
        self.by_state = Need.STATE in rule.needs
        self._known: dict[Key, dict[int, Array]] = defaultdict(dict)

    def __call__(self, progress: Progress, states: Indices) -> Array:
        """(R, T + 1) probability of each next update time for robots that saw `states`; T: none."""
        known = self._known[progress.key(self.rule)]
        asked = states.tolist() if self.by_state else [-1] * len(states)
        if new := [row for row, state in enumerate(asked) if state not in known]:
            context_at = partial(self.mission.context, self.rule, progress)
            new = new if self.by_state else new[:1]
            result = next_updates(self.rule, context_at, self.mission.seen(states[new]))
            known.update(zip([asked[row] for row in new], result, strict=True))
        return np.stack([known[state] for state in asked])


def draws_times(mission: Mission, rule: Rule) -> bool:
    """Return whether the times of a rule differ between seeds where the states seen do not."""
    if len(mission.task.latency.durations) > 1:
        return True
    if type(rule).next_update is Rule.next_update:
        return False
    update_times, start = UpdateTimes(mission, rule), np.array([mission.world.start])
    progress, time = mission.beginning(), 0
    while time < mission.horizon:
        (chances,) = update_times(progress, start)
        if np.count_nonzero(chances) > 1:
            return True
        time = int(chances.argmax())
        if time < mission.horizon:
            progress = mission.after(progress, time)
    return False


GroupSteps = Iterator[tuple[SkipStep, Array, Array]]
"""Steps of G groups of robots, with the probability of each group and of its update right after the step."""
Robots = tuple[Indices, Callable[[Array], GroupSteps]]
"""(R,) states seen at an update, and the steps from there, given (R, T + 1) chances of the next update."""


def require_room(mission: Mission, *, beside: int = 0) -> None:
    """Raise `InputError` if the distributions of a step, beside other numbers, would not fit into memory."""
    states = mission.world.states
    occupied = min(states, 2 * mission.horizon**2) if _is_sparse(mission) else states
    require_memory(
        beside + ARRAYS_AT_ONCE * min(mission.sizes.rows_at_once, states) * occupied, "exact evaluation"
    )


def visits(
    update_times: UpdateTimes, robots_at: Callable[[Progress, Array], Iterator[Robots]]
) -> Iterator[tuple[Progress, SkipStep, Array]]:
    """Yield every step of every skip interval, with (G,) the probability that its robots come to take it.

    `robots_at` tells how robots act that are distributed as (S,) mass at an update.
    """
    mission, rule = update_times.mission, update_times.rule
    require_room(mission)
    waiting: dict[int, dict[Key, tuple[Progress, Array]]] = defaultdict(dict)

    def arrive(progress: Progress, mass: Array) -> None:
        same, key = waiting[progress.last_update], progress.key(rule)
        same[key] = progress, same[key][1] + mass if key in same else mass

    arrive(mission.beginning(), np.eye(1, mission.world.states, mission.world.start)[0])
    for time in range(mission.horizon):
        for _, (progress, mass) in sorted(waiting.pop(time, {}).items(), key=itemgetter(0)):
            for rows, follow in robots_at(progress, mass):
                for step, still, leaving in follow(update_times(progress, rows)):
                    yield progress, step, still
                    if step.time + 1 < mission.horizon and leaving.any():
                        moved = leaving @ step.after
                        for probability, after in mission.outcomes(progress, step.time + 1):
                            arrive(after, probability * moved)


def mission_robots(mission: Mission, progress: Progress, mass: Array) -> Iterator[Robots]:
    """Group robots by the state that they see; each acts as the mission's robot does.

    Unless distributions are sparse, those with the same remaining actions are then pushed together.
    """
    for rows in row_blocks(mission, mass):
        if _is_sparse(mission):
            yield rows, one_by_one(mass[rows], partial(interval_steps, mission, progress, rows))
        else:
            yield rows, partial(_together, mission, progress, rows, mass[rows])


def _together(
    mission: Mission, progress: Progress, rows: Indices, share: Array, chances: Array
) -> GroupSteps:
    return RemainingActions.of(mission, progress, rows, chances).steps(rows, share)


def one_by_one(
    share: Array, steps_until: Callable[[int], Iterator[SkipStep]]
) -> Callable[[Array], GroupSteps]:
    """Return the steps of R robots with probabilities (R,) `share`, given their steps to any time."""

    def follow(chances: Array) -> GroupSteps:
        still = share
        for step in steps_until(last_time(chances)):
            leaving = share * chances[:, step.time + 1]
            yield step, still, leaving
            still = still - leaving

    return follow


def row_blocks(mission: Mission, mass: Array) -> Iterator[Indices]:
    """Yield the states that have mass, `Sizes.rows_at_once` at a time."""
    rows, at_once = np.flatnonzero(mass), mission.sizes.rows_at_once
    for first in range(0, len(rows), at_once):
        yield rows[first : first + at_once]


def last_time(chances: Array) -> int:
    """Return the last time that has a chance in any row of (R, T + 1)."""
    return int(np.flatnonzero(chances.any(axis=0))[-1])


def _is_sparse(mission: Mission) -> bool:
    """Return whether distributions are kept as sparse matrices: where they hold few of many cells."""
    large = not mission.is_whole or mission.world.states > mission.sizes.whole_world
    return large and mission.is_slip_grid


def interval_steps(mission: Mission, progress: Progress, rows: Indices, end: int) -> Iterator[SkipStep]:
    """Yield the steps to `end` of the mission's robots that saw (R,) `rows` at their last update."""
    return skip_interval(
        mission.world.kernel,
        mission.world.reward,
        progress.update.propagation,
        rows,
        begin=progress.last_update,
        end=end,
        sparse=_is_sparse(mission),
    )
