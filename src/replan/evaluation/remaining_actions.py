"""Blind robots that have the same actions still to take, until the same next update.

From an update on the actions of a blind robot are settled. Robots with the same remaining actions and the
same chances of the next update can therefore be pushed as one distribution, and have one value in every
state: exact evaluation works on such groups in place of robots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from replan.execute.mission import Mission
from replan.execute.progress import Progress
from replan.model.kernel import Array, Indices
from replan.planning.followed import FollowedStep
from replan.skip.commands import commands
from replan.skip.propagation import SkipStep

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
