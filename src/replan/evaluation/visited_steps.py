"""Every step that a robot may take, with its probability, from update to update.

A rule gives the distribution of the next update (`UpdateTimes`); between updates robots that know the same
are pushed together (`visits`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from replan.execute.config import Key, Progress
from replan.execute.mission import Mission
from replan.execute.reach import is_slip_grid
from replan.model.kernel import Array, Indices
from replan.model.machine import require_memory
from replan.model.window import LARGE
from replan.schedule.ask import next_updates
from replan.schedule.budget import FIRST_UPDATE, Kind
from replan.schedule.rule import Need, Rule, require_instance
from replan.skip.propagation import SkipStep, continue_interval, likeliest, skip_interval, stack_rows

ROWS_AT_ONCE = 512
"""States at an update that are pushed together; bounds memory at ROWS_AT_ONCE * S numbers."""

ARRAYS_AT_ONCE = 5
"""Arrays of ROWS_AT_ONCE distributions that a step of exact evaluation holds."""


class UpdateTimes:
    """Distributions of the next update time and its kind: a rule is asked once for each update and state."""

    def __init__(self, mission: Mission, rule: Rule) -> None:
        require_instance(rule)
        self.mission, self.rule = mission, rule
        self.by_state = Need.STATE in rule.needs
        self._known: dict[Key, dict[int, tuple[Array, int]]] = defaultdict(dict)

    def __call__(self, progress: Progress, states: Indices) -> tuple[Array, Indices]:
        """(R, T + 1) probability of each next update time for robots that saw `states`; T: none.

        And (R,) the kind of that update. After a plan alone `states` are the likeliest ones.
        """
        mission, count = self.mission, len(states)
        if progress.last_update < FIRST_UPDATE and mission.prices is None:
            first = np.broadcast_to(
                np.eye(1, mission.horizon + 1, FIRST_UPDATE), (count, mission.horizon + 1)
            )
            return first, np.full(count, int(Kind.BOTH))
        known = self._known[progress.key(self.rule)]
        asked = states.tolist() if self.by_state else [-1] * len(states)
        if new := [row for row, state in enumerate(asked) if state not in known]:
            context_at = partial(mission.context, self.rule, progress)
            new = new if self.by_state else new[:1]
            found = next_updates(
                self.rule, context_at, mission.seen(states[new]), spend_all=mission.config.must_spend
            )
            known.update(zip([asked[row] for row in new], zip(*found, strict=True), strict=True))
        return np.stack([known[state][0] for state in asked]), np.array([known[state][1] for state in asked])


def draws_times(mission: Mission, rule: Rule) -> bool:
    """Return whether the times of a rule differ between seeds where the states seen do not."""
    if type(rule).next_update is Rule.next_update:
        return False
    update_times, start = UpdateTimes(mission, rule), np.array([mission.world.start])
    progress, time = mission.beginning(), 0
    while time < mission.horizon:
        (chances,), (kind,) = update_times(progress, start)
        if np.count_nonzero(chances) > 1:
            return True
        time = int(chances.argmax())
        if time < mission.horizon:
            progress = mission.after(progress, time, Kind(kind))
    return False


Robots = tuple[Indices, Array, Callable[[int], Iterator[SkipStep]]]
"""(R,) states seen at an update, (R,) their probability, and the steps from there to a given time."""


@dataclass(frozen=True, eq=False)
class Planned:
    """Robots that have planned without a look, told apart by what they take for their state."""

    share: Array
    """(R,) their probability."""
    before: Array
    """(R, S) distribution of the true state."""
    estimate: Any
    """State estimate of the propagation: (R,) states or (R, S) beliefs."""

    def __add__(self, others: Planned) -> Planned:
        """Return both together.

        Robots that take the same state for theirs act alike from now on, so they become one row with the mean
        of their distributions.
        """
        share = np.concatenate([self.share, others.share])
        before = stack_rows([self.before, others.before])
        estimate = stack_rows([self.estimate, others.estimate])
        if estimate.ndim > 1:
            return Planned(share, before, estimate)
        from scipy.sparse import csr_array

        states, same = np.unique(estimate, return_inverse=True)
        total = np.bincount(same, share)
        mean = csr_array((share / total[same], (same, np.arange(len(share)))))
        return Planned(total, mean @ before, states)

    def robots(self, mission: Mission, progress: Progress) -> Robots:
        """Return the robots with the likeliest states in place of states seen."""
        world, propagation = mission.world, progress.update.propagation
        steps = partial(
            continue_interval, world.kernel, world.reward, propagation, self.before, self.estimate,
            begin=progress.last_update,
        )  # fmt: skip
        return likeliest(self.estimate), self.share, lambda end: steps(end=end)


def require_room(mission: Mission, *, beside: int = 0) -> None:
    """Raise `InputError` if the distributions of a step, beside other numbers, would not fit into memory."""
    states = mission.world.states
    occupied = min(states, 2 * mission.horizon**2) if _is_sparse(mission) else states
    require_memory(beside + ARRAYS_AT_ONCE * min(ROWS_AT_ONCE, states) * occupied, "exact evaluation")


def visits(
    update_times: UpdateTimes, robots_at: Callable[[Progress, Array], Iterator[Robots]]
) -> Iterator[tuple[Progress, SkipStep, Array]]:
    """Yield every step of every skip interval, with (R,) the probability that its robots come to take it.

    `robots_at` tells how robots act that are distributed as (S,) mass at an update.
    """
    mission = update_times.mission
    require_room(mission)
    start = np.eye(1, mission.world.states, mission.world.start)[0]
    first = mission.beginning()
    arrivals = _Arrivals(mission, update_times.rule)
    arrivals.add(first, start)
    for time in range(mission.horizon):
        for progress, arrived in arrivals.at(time):
            blind = isinstance(arrived, Planned)
            groups = [arrived.robots(mission, progress)] if blind else robots_at(progress, arrived)
            for rows, share, steps_until in groups:
                chances, kinds = update_times(progress, rows)
                by_kind = [(Kind(kind), kinds == kind) for kind in np.unique(kinds).tolist()]
                still = share
                for step in steps_until(last_time(chances)):
                    yield progress, step, still
                    leaving = share * chances[:, step.time + 1]
                    if step.time + 1 < mission.horizon and leaving.any():
                        arrivals.leave(progress, step, leaving, by_kind)
                    still = still - leaving


class _Arrivals:
    """Robots by the time of their next update and by its bookkeeping."""

    def __init__(self, mission: Mission, rule: Rule) -> None:
        self.mission, self.rule = mission, rule
        self.waiting: dict[int, dict[Key, tuple[Progress, Array | Planned]]] = defaultdict(dict)

    def at(self, time: int) -> Iterator[tuple[Progress, Array | Planned]]:
        """Yield those of one time: (S,) mass of states seen, or robots that have planned without a look."""
        for _, arrived in sorted(self.waiting.pop(time, {}).items(), key=itemgetter(0)):
            yield arrived

    def add(self, progress: Progress, robots: Array | Planned) -> None:
        """Add robots to those whose bookkeeping is the same."""
        same, key = self.waiting[progress.last_update], progress.key(self.rule)
        same[key] = progress, same[key][1] + robots if key in same else robots

    def leave(
        self, progress: Progress, step: SkipStep, leaving: Array, kinds: list[tuple[Kind, np.ndarray]]
    ) -> None:
        """Add (R,) `leaving` robots that update after a step, each in its kind: (R,) whether it is theirs."""
        for kind, chosen in kinds:
            these = leaving if len(kinds) == 1 else np.where(chosen, leaving, 0.0)
            if not these.any():
                continue
            following = self.mission.after(progress, step.time + 1, kind)
            if Kind.LOOK in kind:
                self.add(following, these @ step.after)
                continue
            rows = np.flatnonzero(these)
            estimate = progress.update.propagation.advance(step.estimate, step.actions, step.time)[rows]
            self.add(following, Planned(these[rows], step.after[rows], estimate))


def mission_robots(mission: Mission, progress: Progress, mass: Array) -> Iterator[Robots]:
    """Group robots by the state that they see; each acts as the mission's robot does."""
    for rows in row_blocks(mass):
        yield rows, mass[rows], partial(interval_steps, mission, progress, rows)


def row_blocks(mass: Array) -> Iterator[Indices]:
    """Yield the states that have mass, ROWS_AT_ONCE at a time."""
    rows = np.flatnonzero(mass)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[first : first + ROWS_AT_ONCE]


def last_time(chances: Array) -> int:
    """Return the last time that has a chance in any row of (R, T + 1)."""
    return int(np.flatnonzero(chances.any(axis=0))[-1])


def _is_sparse(mission: Mission) -> bool:
    """Return whether distributions are kept as sparse matrices: where they hold few of many cells."""
    large = mission.world.states > LARGE and not mission.apart
    return not mission.is_whole or (large and is_slip_grid(mission.world))


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
