"""How a kind of robot goes on from a decision: its walk, its exits and the times at which it is asked.

A node is a time and the update in force there. A blind robot has an exit at every later step and is never
asked; a robot that sees its state has no exit and is asked after every step, or when its update arrives. A
new kind of robot is one more class here.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from replan.model.kernel import Array, Indices
from replan.skip.acting import BeliefPropagation, MapPropagation, Update
from replan.skip.walks import BlindWalk, Course, FollowedSteps, SeenWalk, Walk, resting_walks


class Ways(Protocol):
    """The ways of one kind of robot in a course."""

    course: Course

    @property
    def seen(self) -> bool:
        """Whether the robot's plan is followed at the state that it sees, at every step."""
        ...

    def exits(self, time: int, update: Update) -> range:
        """Return the times at which a robot that is not seen may leave for an update."""
        ...

    def asked(self, time: int, update: Update) -> range:
        """Return the times at which it is seen and asked, if it has not left."""
        ...

    def walk(self, time: int, update: Update, states: Indices, keep: np.ndarray | None = None) -> Walk:
        """Return the walk of robots that saw (R,) states; `keep` as in `BlindWalk`."""
        ...

    def behaviour(self, update: Update, time: int) -> Hashable:
        """Return what tells updates apart that make these robots act differently from a time on."""
        ...

    def unasked(self, time: int, update: Update, mass: Array) -> tuple[Array, Array]:
        """(T + 1,) gains until each time of robots that are never asked, and (T + 1, S) where they are."""
        ...


@dataclass(eq=False)
class BlindWays:
    """Nothing is seen until the next update."""

    seen = False
    course: Course
    root: Update | None = None
    """The update in force when the course begins, where it is none of the course's own."""
    _resting: dict[int, BlindWalk] | None = field(default=None, repr=False)

    def exits(self, time: int, update: Update) -> range:
        """Return every later time from the arrival on."""
        return range(max(update.arrival, time + 1), self.course.horizon)

    def asked(self, time: int, update: Update) -> range:
        """Return no time."""
        return range(0)

    def walk(self, time: int, update: Update, states: Indices, keep: np.ndarray | None = None) -> BlindWalk:
        """Return the walk to T. Where nothing moves any more, plans share their steps."""
        course = self.course
        if keep is not None and len(states) == course.states and self._rests(time, update):
            if self._resting is None:
                self._resting = resting_walks(course, self._resting_updates())
            if time in self._resting:
                return self._resting[time]
        return BlindWalk(course, time, states, course.commands(update, time, states), keep)

    def behaviour(self, update: Update, time: int) -> Hashable:
        """Return the name of the update."""
        return update.name

    def unasked(self, time: int, update: Update, mass: Array) -> tuple[Array, Array]:
        """(T + 1,) gains until each time, and (T + 1, S) where the mass is."""
        states = np.flatnonzero(mass)
        walk, horizon = self.walk(time, update, states), self.course.horizon
        gains = np.concatenate([np.zeros(time), mass[states] @ walk.gained])
        places = np.zeros((horizon + 1, len(mass)))
        walk.reach(mass[states], np.ones(horizon + 1, dtype=bool), places)
        return gains, places

    def _resting_updates(self) -> dict[int, Update]:
        """Return the updates that can begin where nothing moves; the first one still sees what was before."""
        course = self.course
        updates = {t: course.update(t, None, 0) for t in range(course.rests_from + 1, course.horizon)}
        if self.root is not None and self._rests(course.begin, self.root):
            updates[course.begin] = self.root
        return updates

    def _rests(self, time: int, update: Update) -> bool:
        """Return whether nothing moves any more and the robot believes that."""
        course, acting = self.course, update.propagation
        if time < course.rests_from or course.by_last or course.tolerance == 0.0 or update.plan.later:
            return False
        if isinstance(acting, BeliefPropagation):
            believed = acting.plan.kernel
        elif isinstance(acting, MapPropagation):
            believed = acting.kernels[0]
        else:
            return False
        return update.plan.ties.kind != "random" and believed is course.kernel(course.horizon - 1)


@dataclass(eq=False)
class SeeingWays:
    """The state is seen after every step."""

    seen = True
    course: Course
    _walks: dict[tuple, SeenWalk] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.step = FollowedSteps(self.course)

    def exits(self, time: int, update: Update) -> range:
        """Return no time."""
        return range(0)

    def asked(self, time: int, update: Update) -> range:
        """Return the next time at which a decision is taken: while an update runs there is none."""
        after = max(update.arrival, time + 1)
        return range(after, min(after + 1, self.course.horizon))

    def walk(
        self, time: int, update: Update, states: Indices | None = None, keep: np.ndarray | None = None
    ) -> SeenWalk:
        """Return the walk of robots in all states until they are asked."""
        key = time, update.name
        if key not in self._walks:
            end = min(max(update.arrival, time + 1), self.course.horizon)
            steps = [self.step(t, update.policy_at(t)) for t in range(time, end)]
            losses = [lost for _, lost in steps if lost.size]
            self._walks[key] = SeenWalk(time, [step for step, _ in steps], losses)
        return self._walks[key]

    def behaviour(self, update: Update, time: int) -> Hashable:
        """Return the actions: after the arrival nothing else matters, unless estimates are compared."""
        if time < update.arrival or self.course.compares or update.plan.later:
            return update.name
        return update.plan.policy.tobytes()

    def unasked(self, time: int, update: Update, mass: Array) -> tuple[Array, Array]:
        """(T + 1,) gains until each time, and (T + 1, S) where the mass is."""
        horizon = self.course.horizon
        gains, places = np.zeros(horizon + 1), np.zeros((horizon + 1, len(mass)))
        places[time] = mass
        for t in range(time, horizon):
            step, _ = self.step(t, update.policy_at(t))
            gains[t + 1] = gains[t] + places[t] @ step.reward
            places[t + 1] = step.push(places[t])
        return gains, places
