"""Regret by sampling: the paper's "Validation and Evaluation Protocol".

Seed j at time t always sees the same random number, whatever the method, so that methods and the oracle are
compared on paired rollouts. All seeds run side by side, and none depends on the others. Where the world is
one slippery grid, whole intervals are sampled in one compiled loop: with the same numbers, added in the same
order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from replan import _loops
from replan.errors import InputError, require
from replan.evaluation.visits import Follow
from replan.execute.mission import Mission, Progress, make_timeline, require_world
from replan.model.kernel import Array, Indices
from replan.model.sizes import require_memory
from replan.model.streams import DURATION, RULE, uniforms
from replan.model.world import World
from replan.planning.optimal_values import GridOverTime, Oracle, grid_over_time_of, oracle
from replan.planning.ties import Ties
from replan.schedule.questions import draw
from replan.schedule.rule import Need, Rule, require_instance
from replan.skip.acting import MapPropagation, Propagation, likeliest

HALF_INTERVAL = 1.96
"""Standard errors in half of a 95 % interval of a mean."""


@dataclass(frozen=True)
class Rollouts:
    """N sampled missions."""

    seeds: Indices = field(repr=False)
    """(N,) seed of each mission."""
    returns: Array = field(repr=False)
    """(N,) sum of rewards."""
    update_counts: Indices = field(repr=False)
    """(N,) number of updates."""
    states: Indices | None = field(default=None, repr=False)
    """(N, T + 1) true states; None without `trace`."""
    beliefs: Indices | None = field(default=None, repr=False)
    """(N, T) most likely states by the belief; None without `trace`."""
    updates: np.ndarray | None = field(default=None, repr=False)
    """(N, T) bool: times of updates; None without `trace`."""


@runtime_checkable
class Motion(Protocol):
    """Moves robots by one step."""

    def step(self, time: int, rows: Indices, states: Indices, actions: Indices) -> tuple[Indices, Array]:
        """Return (R,) next states and (R,) rewards of the robots `rows`, which are in (R,) states."""
        ...


class KernelMotion:
    """Samples the kernels of a world with the numbers of (N,) seeds."""

    def __init__(self, world: World, seeds: Indices) -> None:
        self.world = world
        self.numbers = uniforms(seeds[None, :], np.arange(world.horizon)[:, None])

    def step(self, time: int, rows: Indices, states: Indices, actions: Indices) -> tuple[Indices, Array]:
        """Return (R,) next states and (R,) rewards of the robots `rows`, which are in (R,) states."""
        following = self.world.kernel(time).sample(states, actions, self.numbers[time, rows])
        return following, self.world.reward(time).realised(states, actions, following)


@dataclass(frozen=True)
class SampledRegret:
    """The mean over seeds of the oracle's return minus the method's."""

    n: int
    """Number of seeds."""
    regret: float
    """Mean regret."""
    standard_error: float
    """Standard error of the mean; not a number for one seed."""

    @property
    def margin(self) -> float:
        """Half of the 95 % interval of the mean: the figure after a `±`."""
        return HALF_INTERVAL * self.standard_error


def sampled_regret(oracle_returns: Array, returns: Array) -> SampledRegret:
    """Return the mean and the standard error of paired differences."""
    gaps = oracle_returns - returns
    spread = float(gaps.std(ddof=1)) if len(gaps) > 1 else float("nan")
    return SampledRegret(len(gaps), float(gaps.mean()), spread / len(gaps) ** 0.5)


def rollout(
    mission: Mission,
    rule: Rule | None,
    seeds: ArrayLike,
    *,
    trace: bool = False,
    motion: Motion | None = None,
) -> Rollouts:
    """Sample the mission once per seed.

    Parameters
    ----------
    mission : Mission
        The mission to sample.
    rule : Rule or None
        Decides when to update. None is the oracle, which knows all kernels and sees its state at every step.
    seeds : array_like of int
        (N,) seeds, one for each sample.
    trace : bool
        Whether states, beliefs and update times are kept too.
    motion : Motion, optional
        Moves the robots in place of the world's kernels.

    Returns
    -------
    Rollouts
        Return and number of updates of every sample.
    """
    require_world(mission)
    require(bool, trace=trace)
    if motion is not None:
        require(Motion, motion=motion)
    seeds = np.atleast_1d(np.asarray(seeds))
    if not np.issubdtype(seeds.dtype, np.integer):
        raise InputError(f"seeds must be whole numbers, not {seeds.dtype}")
    if rule is None:
        returns = oracle_rollout(mission.world, seeds, ties=mission.robot.ties, motion=motion)
        return Rollouts(seeds, returns, np.zeros(len(seeds), dtype=np.int64))
    require_instance(rule)
    if motion is not None:
        return _Sample(mission, rule, seeds, trace=trace, motion=motion).run()
    found, part = _Sample(mission.cropped, rule, seeds, trace=trace).run(), mission.cropped.world.part
    if found.states is None or found.beliefs is None or part is None or mission.world.part is part:
        return found
    return replace(found, states=part.outside(found.states), beliefs=part.outside(found.beliefs))


def oracle_rollout(
    world: World,
    seeds: Indices,
    *,
    best: Oracle | None = None,
    ties: Ties | None = None,
    motion: Motion | None = None,
) -> Array:
    """(N,) returns of the robot that knows all kernels and sees its state at every step."""
    best, ties, motion = best or oracle(world), ties or Ties(), motion or KernelMotion(world, seeds)
    everyone, everywhere = np.arange(len(seeds)), np.arange(world.states)
    states, returns = np.full(len(seeds), world.start), np.zeros(len(seeds))
    for t in range(world.horizon):
        actions = ties.choose(best.q_values(t), plan_time=t, states=everywhere)[states]
        states, rewards = motion.step(t, everyone, states, actions)
        returns += rewards
    return returns


Groups = list[dict[tuple, tuple[Progress, list[Indices]]]]
"""By time and key of their books, robots that come to a decision."""


class _Sample:
    """N robots on one mission, moved from decision to decision in groups that share their books."""

    def __init__(
        self, mission: Mission, rule: Rule, seeds: Indices, *, trace: bool, motion: Motion | None = None
    ) -> None:
        self.mission, self.rule, self.seeds, self.trace = mission, rule, seeds, trace
        count, horizon = len(seeds), mission.horizon
        require_memory(count * (10 + (4 if trace else 1) * horizon), f"{count} rollouts of {horizon} steps")
        self.states = np.full(count, mission.world.start)
        self.returns, self.counts = np.zeros(count), np.zeros(count, dtype=np.int64)
        steps = trace or motion is not None or mission.robot.execution != "map"
        steps |= not mission.latency.instant
        self.grid = None if steps else grid_over_time_of(mission.world)
        self.motion = motion or (None if self.grid else KernelMotion(mission.world, seeds))
        if trace:
            self.seen = np.empty((count, horizon + 1), dtype=np.int64)
            self.believed = np.empty((count, horizon), dtype=np.int64)
            self.updated = np.zeros((count, horizon), dtype=bool)

    def run(self) -> Rollouts:
        """Take every robot from decision to decision, and return the results."""
        mission, rule, everyone = self.mission, self.rule, np.arange(len(self.seeds))
        self.follow = Follow(mission, rule)
        if self.grid and Need.STATE not in rule.needs and not draws_times(mission, rule):
            times = make_timeline(mission, rule, explain=False).times
            self.counts[:] = len(times)
            updates = {0: mission.update(0)}
            for before, t in zip((0, *times), times, strict=False):
                updates[t] = mission.update(t, updates[before])
            self._move({t: update.propagation for t, update in updates.items()}, everyone, mission.horizon)
        else:
            self.asked: Groups = [{} for _ in range(mission.horizon + 1)]
            self.decided: Groups = [{} for _ in range(mission.horizon + 1)]
            self._arrive(self.decided, 0, mission.beginning(), everyone)
            for t in range(mission.horizon):
                for progress, rows in self.asked[t].values():
                    self._ask(t, progress, np.concatenate(rows))
                for progress, rows in self.decided[t].values():
                    self._go_on(t, progress, np.concatenate(rows))
        if not self.trace:
            return Rollouts(self.seeds, self.returns, self.counts)
        self.seen[:, -1] = self.states
        return Rollouts(self.seeds, self.returns, self.counts, self.seen, self.believed, self.updated)

    def _arrive(self, groups: Groups, time: int, progress: Progress, rows: Indices) -> None:
        key = progress.key(self.rule)
        before = groups[time][key][1] if key in groups[time] else []
        groups[time][key] = progress, [*before, rows]

    def _ask(self, time: int, progress: Progress, rows: Indices) -> None:
        """Have robots decide that are seen now."""
        due = np.zeros(len(rows), dtype=bool)
        if progress.budget_left:
            states, case = np.unique(self.states[rows], return_inverse=True)
            chances = self.follow.chances_now(time, progress, states)[case]
            due = chances == 1.0
            if (drawn := (chances > 0) & ~due).any():
                due |= drawn & (uniforms(self.seeds[rows], time, RULE) < chances)
        if due.any():
            self._update(time, progress, rows[due])
        if not due.all():
            self._arrive(self.decided, time, progress, rows[~due])

    def _go_on(self, time: int, progress: Progress, rows: Indices) -> None:
        """Move robots from a decision to their next one."""
        ways, update, horizon = self.follow.ways, progress.update, self.mission.horizon
        if not ways.exits(time, update) and not ways.seen:
            self._move({time: update.propagation}, rows, horizon)
        elif ways.exits(time, update):
            ends = self._next_times(progress, rows)
            for end in np.unique(ends).tolist():
                group = rows[ends == end]
                self._move({time: update.propagation}, group, end)
                if end < horizon:
                    self._update(end, progress, group)
        else:
            asked = ways.asked(time, update)
            end = asked.start if asked else horizon
            for t in range(time, end):
                states = self.states[rows]
                self._take(t, rows, states, states, update.policy_at(t)[states])
            self._arrive(self.asked, end, progress, rows)

    def _update(self, time: int, progress: Progress, rows: Indices) -> None:
        """Have robots update, each with a duration of its own."""
        self.counts[rows] += 1
        if self.trace:
            self.updated[rows, time] = True
        outcomes, latency = self.follow.outcomes(progress, time), self.mission.latency
        if len(outcomes) == 1:
            self._arrive(self.decided, time, outcomes[0][1], rows)
            return
        steps = np.array([latency.drawn(x) for x in uniforms(self.seeds[rows], time, DURATION)])
        for _, after in outcomes:
            if (some := steps == after.update.steps).any():
                self._arrive(self.decided, time, after, rows[some])

    def _next_times(self, progress: Progress, rows: Indices) -> Indices:
        """(R,) the next update of each robot."""
        states, case = np.unique(self.states[rows], return_inverse=True)
        chances = self.follow.next_chances(progress, states)
        certain = np.count_nonzero(chances, axis=1) == 1
        times = chances.argmax(axis=1)[case]
        for row in np.flatnonzero(~certain[case]):
            seed = int(self.seeds[rows[row]])
            times[row] = draw(chances[case[row]], seed, after=progress.last_update, rule=self.rule)
        return times

    def _move(self, intervals: dict[int, Propagation], rows: Indices, end: int) -> None:
        """Move the robots `rows` through intervals that begin at the given times, up to `end`."""
        if self.grid:
            self.states[rows], self.returns[rows] = _sample_walk(
                self.grid, intervals, self.seeds[rows], self.states[rows], self.returns[rows], end=end
            )
            return
        ((begin, propagation),) = intervals.items()
        estimate = propagation.begin(self.states[rows])
        for t in range(begin, end):
            actions = propagation.act(estimate, t)
            self._take(t, rows, self.states[rows], likeliest(estimate), actions)
            estimate = propagation.advance(estimate, actions, t)

    def _take(self, t: int, rows: Indices, states: Indices, believed: Indices, actions: Indices) -> None:
        """Move the robots `rows` by one step from their true `states`."""
        assert self.motion is not None
        if self.trace:
            self.seen[rows, t] = states
            self.believed[rows, t] = believed
        self.states[rows], rewards = self.motion.step(t, rows, states, actions)
        self.returns[rows] += rewards


def draws_times(mission: Mission, rule: Rule) -> bool:
    """Return whether the times of a rule differ between seeds where the states seen do not."""
    if len(mission.latency.durations) > 1:
        return True
    if type(rule).next_update is Rule.next_update:
        return False
    follow, start = Follow(mission, rule), np.array([mission.world.start])
    progress, time = mission.beginning(), 0
    while time < mission.horizon:
        (chances,) = follow.next_chances(progress, start)
        if np.count_nonzero(chances) > 1:
            return True
        time = int(chances.argmax())
        if time < mission.horizon:
            progress = mission.after(progress, time)
    return False


def _sample_walk(
    grid: GridOverTime,
    intervals: Mapping[int, Propagation],
    seeds: Indices,
    states: Indices,
    gained: Array,
    *,
    end: int,
) -> tuple[Indices, Array]:
    """(N,) states at `end` and what was `gained` till then, of robots that are in `states` when it begins.

    `intervals` tells by the time of each update, ascending, how the robots act from then on, which must be
    MAP execution.
    """
    begin, maps = min(intervals), [each for each in intervals.values() if isinstance(each, MapPropagation)]
    states, gained = states.copy(), gained.copy()
    _loops.stencil.slip_walk(
        *grid.shape,
        grid.blocked,
        grid.slip[begin:end],
        grid.law[begin:end],
        grid.reward if len(grid.reward) == 1 else grid.reward[begin:end],
        np.concatenate([each.policy for each in maps]),
        np.concatenate([each.following for each in maps]),
        np.concatenate(list(_rows(maps, [*intervals, end]))),
        np.isin(np.arange(begin, end), list(intervals)),
        seeds,
        begin,
        states,
        gained,
    )
    return states, gained


def _rows(maps: list[MapPropagation], times: list[int]) -> Iterator[Indices]:
    """Yield the rows of the joined policies that are followed from each time to the next."""
    first = 0
    for each, begin, end in zip(maps, times, times[1:], strict=False):
        yield first + each.row(np.arange(begin, end))
        first += len(each.policy)
