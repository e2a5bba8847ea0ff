"""Regret by sampling: the paper's "Validation and Evaluation Protocol".

Seed j at time t always sees the same random number, whatever the method, so that methods and the oracle are
compared on paired rollouts. All seeds run side by side, and none depends on the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from replan.execute.mission import Mission
from replan.execute.timeline import timeline
from replan.model.kernel import Array, Indices
from replan.model.slip_course import SlipCourse, slip_course
from replan.model.streams import uniforms
from replan.model.tvmdp import TVMDP
from replan.planning.backward_induction import Oracle, oracle
from replan.planning.ties import Ties
from replan.schedule.budget import FIRST_UPDATE, next_update
from replan.schedule.rule import Rule, compares_estimates, draws
from replan.skip.propagation import MapPropagation, Propagation
from replan.skip.walk import walk


@dataclass(frozen=True)
class Rollouts:
    """N sampled missions."""

    seeds: Indices = field(repr=False)  # (N,)
    returns: Array = field(repr=False)  # (N,)
    states: Indices | None = field(default=None, repr=False)  # (N, T + 1) true states, where traced
    beliefs: Indices | None = field(
        default=None, repr=False
    )  # (N, T) believed states (most likely), where traced
    updates: np.ndarray | None = field(default=None, repr=False)  # (N, T) bool, where traced


@dataclass(frozen=True)
class SampledRegret:
    """The mean over seeds of the oracle's return minus the method's."""

    n: int
    regret: float
    standard_error: float


def rollout(mission: Mission, rule: Rule, seeds: ArrayLike, *, trace: bool = False) -> Rollouts:
    """Sample the mission once per seed."""
    seeds = np.atleast_1d(np.asarray(seeds, dtype=np.int64))
    fleet = _Fleet(mission, rule, seeds)
    world, horizon = mission.world, mission.horizon
    if not trace and mission.execution == "map" and (course := slip_course(world)) is not None:
        return Rollouts(seeds, _walk(fleet, course, np.full(len(seeds), world.start)))
    numbers = uniforms(seeds[None, :], np.arange(horizon)[:, None])
    states = np.full(len(seeds), world.start)
    returns = np.zeros(len(seeds))
    seen, believed, updated = [states], [], []
    for t in range(horizon):
        due = fleet.update(t, states)
        if trace:
            updated.append(due & (t > 0))
            believed.append(fleet.believed())
        actions = fleet.act()
        following = world.kernel(t).sample(states, actions, numbers[t])
        returns += world.reward(t).realised(states, actions, following)
        states = following
        if trace:
            seen.append(states)
    if not trace:
        return Rollouts(seeds, returns)
    return Rollouts(seeds, returns, np.stack(seen, 1), np.stack(believed, 1), np.stack(updated, 1))


def oracle_rollout(
    world: TVMDP, seeds: ArrayLike, *, best: Oracle | None = None, ties: Ties | None = None
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
    """Mean and standard error of paired differences."""
    gaps = oracle_returns - returns
    spread = float(gaps.std(ddof=1)) if len(gaps) > 1 else float("nan")
    return SampledRegret(len(gaps), float(gaps.mean()), spread / len(gaps) ** 0.5)


def _walk(fleet: _Fleet, course: SlipCourse, states: Indices) -> Array:
    """(N,) returns, interval by interval for every group of robots that share their update times."""
    mission, rule = fleet.mission, fleet.rule
    returns = np.zeros(len(states))
    if not rule.uses_state and not draws(rule):
        times = (0, *timeline(mission, rule, explain=False).times)
        intervals = {t: mission.update(t).propagation for t in times}
        return walk(course, intervals, fleet.seeds, states, returns, end=mission.horizon)[1]
    for time in range(mission.horizon):
        if time != fleet.earliest:
            continue
        rows = np.flatnonzero(fleet.update(time, states))
        ends = fleet.next_time[rows]
        for end in set(ends.tolist()):
            group = rows[ends == end]
            interval = {time: mission.update(time).propagation}
            robots = fleet.seeds[group], states[group], returns[group]
            states[group], returns[group] = walk(course, interval, *robots, end=end)
    return returns


class _Fleet:
    """N robots on one mission, in groups that share the time of their last update."""

    def __init__(self, mission: Mission, rule: Rule, seeds: Indices) -> None:
        self.mission, self.rule, self.seeds = mission, rule, seeds
        count = len(seeds)
        self.next_time = np.zeros(count, dtype=np.int64)
        self.earliest = 0  # the least of next_time
        self.left = np.full(count, mission.budget, dtype=np.int64)
        self.last = np.zeros(count, dtype=np.int64)  # update times
        self.groups: list[tuple[Propagation, Indices, Any]] = []

    def update(self, time: int, states: Indices) -> np.ndarray:
        """Update the robots that are due at `time`; (N,) which they were."""
        due = self.next_time == time
        if time != self.earliest:
            return due
        rows = np.flatnonzero(due)
        self.groups = [self._without(group, due) for group in self.groups]
        self.groups = [group for group in self.groups if len(group[1])]
        how = self.mission.update(time).propagation
        self.groups.append((how, rows, how.begin(states[rows])))
        if time == 0:
            self.next_time[:] = FIRST_UPDATE
        else:
            self.left[rows] -= 1
            self.next_time[rows] = self._next_times(time, rows, states[rows])
            self.last[rows] = time
        self.earliest = int(self.next_time.min())
        return due

    def act(self) -> Indices:
        """(N,) actions; every robot's estimate moves on."""
        if len(self.groups) == 1:
            how, rows, estimate = self.groups[0]
            actions = how.act(estimate)
            self.groups[0] = (how, rows, how.advance(estimate, actions))
            return actions
        everyone = np.empty(len(self.seeds), dtype=np.int64)
        for k, (how, rows, estimate) in enumerate(self.groups):
            actions = everyone[rows] = how.act(estimate)
            self.groups[k] = (how, rows, how.advance(estimate, actions))
        return everyone

    def believed(self) -> Indices:
        """(N,) where each robot most likely believes itself to be."""
        everyone = np.empty(len(self.seeds), dtype=np.int64)
        for how, rows, estimate in self.groups:
            everyone[rows] = estimate if isinstance(how, MapPropagation) else estimate.argmax(axis=1)
        return everyone

    @staticmethod
    def _without(
        group: tuple[Propagation, Indices, Any], due: np.ndarray
    ) -> tuple[Propagation, Indices, Any]:
        how, rows, estimate = group
        stay = ~due[rows]
        return how, rows[stay], estimate[stay]

    def _next_times(self, time: int, rows: Indices, states: Indices) -> Indices:
        shown = states if self.rule.uses_state else np.full_like(states, states[0])
        earlier = self.last[rows] if compares_estimates(self.rule) else np.zeros_like(rows)
        seen = np.stack([shown, self.left[rows], earlier])  # (3, R)
        if draws(self.rule):
            rules = [self.rule.with_seed(int(seed)) for seed in self.seeds[rows]]
            return np.array([self._ask(r, time, *each) for r, each in zip(rules, seen.T, strict=True)])
        if (seen == seen[:, :1]).all():
            return np.full(len(rows), self._ask(self.rule, time, *seen[:, 0]))
        cases, case = np.unique(seen, axis=1, return_inverse=True)
        return np.array([self._ask(self.rule, time, *each) for each in cases.T])[case.reshape(-1)]

    def _ask(self, rule: Rule, time: int, state: int, left: int, earlier: int) -> int:
        contexts = self.mission.context_at(
            rule, last_update=time, earlier_update=int(earlier), budget_left=int(left), state=int(state)
        )
        return next_update(rule, contexts, exact=self.mission.exact_budget, explain=False)[0]
