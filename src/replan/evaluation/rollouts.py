"""Regret by sampling: the paper's "Validation and Evaluation Protocol".

Seed j at time t always sees the same random number, whatever the method, so that methods and the oracle are
compared on paired rollouts. All seeds run side by side, and none depends on the others.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from replan.evaluation.visited_steps import UpdateTimes, draws_times
from replan.execute.config import Progress
from replan.execute.mission import Mission
from replan.execute.timeline import make_timeline
from replan.model.kernel import Array, Indices
from replan.model.machine import require_memory
from replan.model.streams import uniforms
from replan.model.world import World
from replan.planning.backward_induction import Oracle, grid_over_time_of, oracle
from replan.planning.ties import Ties
from replan.schedule.ask import draw
from replan.schedule.budget import Kind
from replan.schedule.rule import Need, Rule
from replan.skip.propagation import Propagation, likeliest, stack_rows
from replan.skip.walk import sample_walk


@dataclass(frozen=True)
class Rollouts:
    """N sampled missions."""

    seeds: Indices = field(repr=False)
    """(N,) seed of each mission."""
    returns: Array = field(repr=False)
    """(N,) sum of rewards."""
    update_counts: Indices = field(repr=False)
    """(N,) number of updates."""
    look_counts: Indices = field(repr=False)
    """(N,) number of looks."""
    plan_counts: Indices = field(repr=False)
    """(N,) number of plans."""
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


def rollout(mission: Mission, rule: Rule, seeds: ArrayLike, *, trace: bool = False) -> Rollouts:
    """Sample the mission once per seed."""
    seeds = np.atleast_1d(np.asarray(seeds, dtype=np.int64))
    fleet = _Fleet(mission, rule, seeds, trace=trace)
    if not fleet.run():
        fleet = _Fleet(mission, rule, seeds, trace=trace, keeping=True)
        fleet.run()
    return fleet.rollouts()


def oracle_rollout(
    world: World, seeds: ArrayLike, *, best: Oracle | None = None, ties: Ties | None = None
) -> Array:
    """(N,) returns of the robot that knows all kernels and sees its state at every step."""
    best = best or oracle(world)
    ties = ties or Ties()
    seeds = np.atleast_1d(np.asarray(seeds, dtype=np.int64))
    everyone = np.arange(world.states)
    states = np.full(len(seeds), world.start)
    returns = np.zeros(len(seeds))
    for t in range(world.horizon):
        actions = ties.choose(best.q_values(t), plan_time=t, states=everyone)[states]
        following = world.kernel(t).sample(states, actions, uniforms(seeds, t))
        returns += world.reward(t).realised(states, actions, following)
        states = following
    return returns


def sampled_regret(oracle_returns: Array, returns: Array) -> SampledRegret:
    """Return the mean and the standard error of paired differences."""
    gaps = oracle_returns - returns
    spread = float(gaps.std(ddof=1)) if len(gaps) > 1 else float("nan")
    return SampledRegret(len(gaps), float(gaps.mean()), spread / len(gaps) ** 0.5)


class _Fleet:
    """N robots on one mission, moved interval by interval in groups that share their progress.

    A robot that plans without a look goes on from its estimate, which is kept where this is asked for.
    """

    def __init__(
        self, mission: Mission, rule: Rule, seeds: Indices, *, trace: bool, keeping: bool = False
    ) -> None:
        self.mission, self.rule, self.seeds, self.trace = mission, rule, seeds, trace
        count, horizon = len(seeds), mission.horizon
        require_memory(count * (10 + (4 if trace else 1) * horizon), f"{count} rollouts of {horizon} steps")
        self.states = np.full(count, mission.world.start)
        self.returns, self.counts = np.zeros(count), np.zeros((3, count), dtype=np.int64)
        self.keeping = keeping or mission.apart
        steps = trace or self.keeping or mission.execution != "map"
        self.grid = None if steps else grid_over_time_of(mission.world)
        self.estimates: Any = None  # of robots that may plan without a look
        self.sparse: dict[int, Any] = {}  # and those that are sparse, by robot
        self.numbers = None if self.grid else uniforms(seeds[None, :], np.arange(horizon)[:, None])
        if trace:
            self.seen = np.empty((count, horizon + 1), dtype=np.int64)
            self.believed = np.empty((count, horizon), dtype=np.int64)
            self.updated = np.zeros((count, horizon), dtype=bool)

    def run(self) -> bool:
        """Take every robot from update to update; False where one plans without a look and none is kept."""
        mission, rule = self.mission, self.rule
        everyone = np.arange(len(self.seeds))
        if self.grid and Need.STATE not in rule.needs and not draws_times(mission, rule):
            timeline = make_timeline(mission, rule, explain=False)
            if all(kind == Kind.BOTH for _, kind in timeline.made):
                self.counts[:] = len(timeline.times)
                pairs = zip((0, 0, *timeline.times), (0, *timeline.times), strict=False)
                intervals = {t: mission.update(t, before).propagation for before, t in pairs}
                self._move(intervals, everyone, mission.horizon)
                return True
        update_times = UpdateTimes(mission, rule)
        first = mission.beginning()
        waiting: dict[int, dict[tuple, tuple[Progress, list[Indices]]]] = defaultdict(dict)
        waiting[0][first.key(rule)] = first, [everyone]
        for time in range(mission.horizon):
            for progress, groups in waiting.pop(time, {}).values():
                rows = np.concatenate(groups)
                ends, kinds = self._next_times(update_times, progress, rows)
                for end, kind in sorted(set(zip(ends.tolist(), kinds.tolist(), strict=True))):
                    group = rows[(ends == end) & (kinds == kind)]
                    self._move(
                        {time: progress.update.propagation}, group, end, seen=progress.last_look == time
                    )
                    if end < mission.horizon:
                        if kind == Kind.PLAN and not self.keeping:
                            return False
                        self.counts[:, group] += [[1], [Kind.LOOK in Kind(kind)], [Kind.PLAN in Kind(kind)]]
                        following = mission.after(progress, end, Kind(kind))
                        waiting[end].setdefault(following.key(rule), (following, []))[1].append(group)
        return True

    def rollouts(self) -> Rollouts:
        """Return the results."""
        updates, looks, plans = self.counts
        if not self.trace:
            return Rollouts(self.seeds, self.returns, updates, looks, plans)
        self.seen[:, -1] = self.states
        traced = self.seen, self.believed, self.updated
        return Rollouts(self.seeds, self.returns, updates, looks, plans, *traced)

    def _next_times(
        self, update_times: UpdateTimes, progress: Progress, rows: Indices
    ) -> tuple[Indices, Indices]:
        """(R,) the next update of each robot, and its kind."""
        looked = progress.last_look == progress.last_update
        known = self.states[rows] if looked else likeliest(self._kept(rows))
        states, case = np.unique(known, return_inverse=True)
        chances, kinds = update_times(progress, states)
        certain = np.count_nonzero(chances, axis=1) == 1
        times = chances.argmax(axis=1)[case]
        for row in np.flatnonzero(~certain[case]):
            seed = int(self.seeds[rows[row]])
            times[row] = draw(chances[case[row]], seed, after=progress.last_update, rule=self.rule)
        return times, np.where(times < self.mission.horizon, kinds[case], 0)

    def _move(self, intervals: dict[int, Propagation], rows: Indices, end: int, *, seen: bool = True) -> None:
        """Move the robots `rows` through intervals that begin at the given times, up to `end`.

        Robots that have not `seen` their states at the beginning go on from their estimates.
        """
        states, returns = self.states[rows], self.returns[rows]
        if self.grid:
            states, returns = sample_walk(self.grid, intervals, self.seeds[rows], states, returns, end=end)
        else:
            ((begin, propagation),) = intervals.items()
            if self.trace:
                self.updated[rows, begin] = begin > 0
            estimate = propagation.begin(states) if seen else self._kept(rows)
            for t in range(begin, end):
                states, returns, estimate = self._step(t, rows, propagation, states, returns, estimate)
            if self.keeping:
                self._keep(rows, estimate)
        self.states[rows], self.returns[rows] = states, returns

    def _keep(self, rows: Indices, estimate: Any) -> None:
        if not isinstance(estimate, np.ndarray):
            self.sparse |= {row: estimate[place : place + 1] for place, row in enumerate(rows.tolist())}
            return
        if self.estimates is None:
            self.estimates = np.zeros((len(self.seeds), *estimate.shape[1:]), dtype=estimate.dtype)
        self.estimates[rows] = estimate

    def _kept(self, rows: Indices) -> Any:
        if self.estimates is None:
            return stack_rows([self.sparse[row] for row in rows.tolist()])
        return self.estimates[rows]

    def _step(self, t: int, rows: Indices, propagation: Propagation, states, returns, estimate):
        assert self.numbers is not None
        world, actions = self.mission.world, propagation.act(estimate, t)
        if self.trace:
            self.seen[rows, t] = states
            self.believed[rows, t] = likeliest(estimate)
        following = world.kernel(t).sample(states, actions, self.numbers[t, rows])
        returns = returns + world.reward(t).realised(states, actions, following)
        return following, returns, propagation.advance(estimate, actions, t)
