"""Regret by sampling: the paper's "Validation and Evaluation Protocol".

Seed j at time t always sees the same random number, whatever the method, so that methods and the oracle are
compared on paired rollouts. All seeds run side by side, and none depends on the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError, require
from replan.evaluation.localised import Chain
from replan.evaluation.motion import KernelMotion, Motion, sample_walk
from replan.evaluation.visited_steps import UpdateTimes, draws_times
from replan.execute.mission import Mission, make_timeline, require_mission
from replan.execute.task import Progress
from replan.model.kernel import Array, Indices
from replan.model.sizes import require_memory
from replan.model.streams import DURATION, RULE, uniforms
from replan.model.world import World
from replan.planning.backward_induction import Oracle, grid_over_time_of, oracle
from replan.planning.ties import Ties
from replan.schedule.ask import draw
from replan.schedule.rule import Need, Rule, require_instance
from replan.skip.propagation import Propagation, likeliest

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


def rollout(
    mission: Mission, rule: Rule, seeds: ArrayLike, *, trace: bool = False, motion: Motion | None = None
) -> Rollouts:
    """Sample the mission once per seed.

    Parameters
    ----------
    mission : Mission
        The mission to sample.
    rule : Rule
        Decides when to update.
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
    require_mission(mission)
    require_instance(rule)
    require(bool, trace=trace)
    if motion is not None:
        require(Motion, motion=motion)
    seeds = np.atleast_1d(np.asarray(seeds))
    if not np.issubdtype(seeds.dtype, np.integer):
        raise InputError(f"seeds must be whole numbers, not {seeds.dtype}")
    fleet = _Fleet(mission, rule, seeds, trace=trace, motion=motion)
    fleet.run()
    return fleet.rollouts()


def oracle_rollout(
    world: World,
    seeds: ArrayLike,
    *,
    best: Oracle | None = None,
    ties: Ties | None = None,
    motion: Motion | None = None,
) -> Array:
    """(N,) returns of the robot that knows all kernels and sees its state at every step."""
    best = best or oracle(world)
    ties = ties or Ties()
    seeds = np.atleast_1d(np.asarray(seeds, dtype=np.int64))
    motion = motion or KernelMotion(world, seeds)
    everyone, everywhere = np.arange(len(seeds)), np.arange(world.states)
    states = np.full(len(seeds), world.start)
    returns = np.zeros(len(seeds))
    for t in range(world.horizon):
        actions = ties.choose(best.q_values(t), plan_time=t, states=everywhere)[states]
        states, rewards = motion.step(t, everyone, states, actions)
        returns += rewards
    return returns


def sampled_regret(oracle_returns: Array, returns: Array) -> SampledRegret:
    """Return the mean and the standard error of paired differences."""
    gaps = oracle_returns - returns
    spread = float(gaps.std(ddof=1)) if len(gaps) > 1 else float("nan")
    return SampledRegret(len(gaps), float(gaps.mean()), spread / len(gaps) ** 0.5)


class _Fleet:
    """N robots on one mission, moved interval by interval in groups that share their progress."""

    def __init__(
        self, mission: Mission, rule: Rule, seeds: Indices, *, trace: bool, motion: Motion | None
    ) -> None:
        self.mission, self.rule, self.seeds, self.trace = mission, rule, seeds, trace
        count, horizon = len(seeds), mission.horizon
        require_memory(count * (10 + (4 if trace else 1) * horizon), f"{count} rollouts of {horizon} steps")
        self.states = np.full(count, mission.world.start)
        self.returns, self.counts = np.zeros(count), np.zeros(count, dtype=np.int64)
        steps = trace or motion is not None or mission.robot.execution != "map"
        steps |= not mission.task.latency.instant
        self.grid = None if steps else grid_over_time_of(mission.world)
        self.motion = motion or (None if self.grid else KernelMotion(mission.world, seeds))
        if trace:
            self.seen = np.empty((count, horizon + 1), dtype=np.int64)
            self.believed = np.empty((count, horizon), dtype=np.int64)
            self.updated = np.zeros((count, horizon), dtype=bool)

    def run(self) -> None:
        """Take every robot from update to update, or step by step where robots see their states."""
        mission, rule = self.mission, self.rule
        if mission.robot.sees:
            self._run_seeing()
            return
        everyone = np.arange(len(self.seeds))
        if self.grid and Need.STATE not in rule.needs and not draws_times(mission, rule):
            times = make_timeline(mission, rule, explain=False).times
            self.counts[:] = len(times)
            pairs = zip((0, 0, *times), (0, *times), strict=False)
            intervals = {t: mission.update(t, before).propagation for before, t in pairs}
            self._move(intervals, everyone, mission.horizon)
            return
        update_times = UpdateTimes(mission, rule)
        first = mission.beginning()
        waiting: dict[int, dict[tuple, tuple[Progress, list[Indices]]]] = defaultdict(dict)
        waiting[0][first.key(rule)] = first, [everyone]
        for time in range(mission.horizon):
            for progress, groups in waiting.pop(time, {}).values():
                rows = np.concatenate(groups)
                ends = self._next_times(update_times, progress, rows)
                for end in np.unique(ends).tolist():
                    group = rows[ends == end]
                    self._move({time: progress.update.propagation}, group, end)
                    if end < mission.horizon:
                        self.counts[group] += 1
                        for following, some in self._updated(progress, end, group):
                            waiting[end].setdefault(following.key(rule), (following, []))[1].append(some)

    def _run_seeing(self) -> None:
        mission, chain = self.mission, Chain(self.mission, self.rule)
        beginning = mission.beginning()
        groups = {beginning.key(self.rule): (beginning, np.arange(len(self.seeds)))}
        for t in range(mission.horizon):
            decided = [
                part for progress, rows in groups.values() for part in self._decide(chain, progress, rows, t)
            ]
            groups = {}
            for progress, rows in decided:
                key = progress.key(self.rule)
                groups[key] = progress, np.concatenate([groups[key][1], rows]) if key in groups else rows
                states = self.states[rows]
                actions = progress.update.policy_at(t)[states]
                self._take(t, rows, states, states, actions)

    def _decide(
        self, chain: Chain, progress: Progress, rows: Indices, time: int
    ) -> Iterator[tuple[Progress, Indices]]:
        """Yield the books after the decision at a time, and the robots that have them."""
        if not time or not progress.budget_left:
            yield progress, rows
            return
        there = np.zeros(self.mission.world.states)
        there[self.states[rows]] = 1.0
        chances = chain.chances(progress, time, there)[self.states[rows]]
        due = chances == 1.0
        if (drawn := (chances > 0) & ~due).any():
            due |= drawn & (uniforms(self.seeds[rows], time, RULE) < chances)
        self.counts[rows[due]] += 1
        if self.trace:
            self.updated[rows[due], time] = True
        if due.any():
            yield from self._updated(progress, time, rows[due])
        if not due.all():
            yield progress, rows[~due]

    def _updated(self, progress: Progress, time: int, rows: Indices) -> Iterator[tuple[Progress, Indices]]:
        """Yield the books after an update by its duration, and the robots that draw it."""
        outcomes = self.mission.outcomes(progress, time)
        if len(outcomes) == 1:
            yield outcomes[0][1], rows
            return
        latency = self.mission.task.latency
        steps = np.array([latency.drawn(x) for x in uniforms(self.seeds[rows], time, DURATION)])
        for _, after in outcomes:
            if (some := steps == after.update.steps).any():
                yield after, rows[some]

    def rollouts(self) -> Rollouts:
        """Return the results."""
        if not self.trace:
            return Rollouts(self.seeds, self.returns, self.counts)
        self.seen[:, -1] = self.states
        return Rollouts(self.seeds, self.returns, self.counts, self.seen, self.believed, self.updated)

    def _next_times(self, update_times: UpdateTimes, progress: Progress, rows: Indices) -> Indices:
        """(R,) the next update of each robot."""
        states, case = np.unique(self.states[rows], return_inverse=True)
        chances = update_times(progress, states)
        certain = np.count_nonzero(chances, axis=1) == 1
        times = chances.argmax(axis=1)[case]
        for row in np.flatnonzero(~certain[case]):
            seed = int(self.seeds[rows[row]])
            times[row] = draw(chances[case[row]], seed, after=progress.last_update, rule=self.rule)
        return times

    def _move(self, intervals: dict[int, Propagation], rows: Indices, end: int) -> None:
        """Move the robots `rows` through intervals that begin at the given times, up to `end`."""
        if self.grid:
            self.states[rows], self.returns[rows] = sample_walk(
                self.grid, intervals, self.seeds[rows], self.states[rows], self.returns[rows], end=end
            )
            return
        ((begin, propagation),) = intervals.items()
        if self.trace:
            self.updated[rows, begin] = begin > 0
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
