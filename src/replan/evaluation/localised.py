"""Exact evaluation of a robot that sees where it is: a Markov chain over (state, last update, updates left).

At every t from 1 on the rule is asked with the present state before the robot acts. What the robot does
until the next update is the plan in force at the states that it sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from replan.execute.mission import Mission
from replan.execute.task import Key, Progress
from replan.model.kernel import Array, Indices
from replan.planning.backward_induction import Oracle
from replan.planning.followed import FollowedStep, follow
from replan.schedule.ask import update_chances
from replan.schedule.rule import Rule, require_instance
from replan.schedule.seeing_programme import PlanName, SeeingProblem, SeeingProgramme, solve_seeing


@dataclass(frozen=True, eq=False)
class ChainNode:
    """Robots that act at one time on the same plan with the same books."""

    time: int
    """t."""
    progress: Progress
    """Their books, after the decision at t."""
    updates: bool
    """Whether they have updated at t."""
    mass: Array = field(repr=False)
    """(S,) probability of being in each state and here."""


class Chain:
    """The chain of a rule. The rule is asked once for each time, books and state.

    `policy` says what robots do in place of the plan in force.
    """

    def __init__(
        self, mission: Mission, rule: Rule, policy: Callable[[Progress, int], Indices] | None = None
    ) -> None:
        require_instance(rule)
        mission.task.require(rule)
        self.mission, self.rule = mission, rule
        self.policy = policy or (lambda progress, time: progress.update.policy_at(time))
        self._chances: dict[tuple[int, Key], Array] = {}
        self._steps: dict[tuple[int, bytes], FollowedStep] = {}

    def chances(self, progress: Progress, time: int, mass: Array) -> Array:
        """(S,) probability of an update at `time` where robots have `mass`; elsewhere 0."""
        key = time, progress.key(self.rule)
        known = self._chances.setdefault(key, np.full(len(mass), np.nan))
        states = np.flatnonzero((mass > 0) & np.isnan(known))
        if len(states):
            context_at = partial(self.mission.context, self.rule, progress)
            known[states] = update_chances(self.rule, context_at, time, self.mission.seen(states))
        return np.where(mass > 0, known, 0.0)

    def step(self, progress: Progress, time: int) -> FollowedStep:
        """Return the true step of robots that act on the plan in force."""
        policy = self.policy(progress, time)
        key = time, policy.tobytes()
        if key not in self._steps:
            self._steps = {known: step for known, step in self._steps.items() if known[0] == time}
            self._steps[key] = follow(
                self.mission.world.kernel(time), self.mission.world.reward(time), policy
            )
        return self._steps[key]

    def forwards(self, mass: Array) -> Iterator[ChainNode]:
        """Yield where robots act that begin as (S,) `mass`, in the order of time."""
        mission, rule = self.mission, self.rule
        first = mission.beginning()
        here: dict[Key, tuple[Progress, Array]] = {first.key(rule): (first, mass)}
        for t in range(mission.horizon):
            ahead: dict[Key, tuple[Progress, Array]] = {}
            for node in self._decided(here, t):
                yield node
                _arrive(ahead, node.progress, self.step(node.progress, t).push(node.mass), rule)
            here = ahead

    def _decided(self, here: dict[Key, tuple[Progress, Array]], time: int) -> Iterator[ChainNode]:
        """Yield the robots at a time after their decision: those that keep their plan, then updated ones."""
        updated: dict[Key, tuple[Progress, Array]] = {}
        for progress, mass in here.values():
            if time and progress.budget_left:
                leaving = mass * self.chances(progress, time, mass)
                if leaving.any():
                    for probability, after in self.mission.outcomes(progress, time):
                        _arrive(updated, after, probability * leaving, self.rule)
                    mass = mass - leaving
            if mass.any():
                yield ChainNode(time, progress, False, mass)
        for progress, mass in updated.values():
            yield ChainNode(time, progress, True, mass)

    def all_returns(self) -> Array:
        """(S,) expected return from every start state."""
        mission, rule = self.mission, self.rule
        nodes: list[dict[Key, Progress]] = [{} for _ in range(mission.horizon)]
        before: list[dict[Key, Progress]] = [{} for _ in range(mission.horizon + 1)]
        first = mission.beginning()
        before[0][first.key(rule)] = first
        for node in self.forwards(np.full(mission.world.states, 1.0)):
            key = node.progress.key(rule)
            nodes[node.time][key] = node.progress
            before[node.time + 1][key] = node.progress
        values: dict[Key, Array] = {}
        nothing, everywhere = np.zeros(mission.world.states), np.ones(mission.world.states)
        for t in range(mission.horizon - 1, -1, -1):
            acting = {
                key: self.step(progress, t).backup(values.get(key, nothing))
                for key, progress in nodes[t].items()
            }
            values = {}
            for key, progress in before[t].items():
                values[key] = acting.get(key, nothing)
                if t and progress.budget_left:
                    due = np.nan_to_num(self._chances.get((t, key), 0.0 * everywhere))
                    if due.any():
                        after = sum(
                            probability * acting[after.key(rule)]
                            for probability, after in mission.outcomes(progress, t)
                        )
                        values[key] = (1 - due) * values[key] + due * after
        return values[first.key(rule)]


def _arrive(here: dict[Key, tuple[Progress, Array]], progress: Progress, mass: Array, rule: Rule) -> None:
    key = progress.key(rule)
    here[key] = progress, here[key][1] + mass if key in here else mass


def losses(chain: Chain, best: Oracle | None) -> tuple[float, Array, Array, Array]:
    """Return the expected return from the start, and (T,) losses at updates, other losses, and updates."""
    mission = chain.mission
    total, tables = 0.0, np.zeros((3, mission.horizon))
    start = np.eye(1, mission.world.states, mission.world.start)[0]
    everyone, lost, lost_at = np.arange(mission.world.states), None, -1
    for node in chain.forwards(start):
        total += float(node.mass @ chain.step(node.progress, node.time).reward)
        if node.updates:
            tables[2, node.time] += node.mass.sum()
        if best is not None:
            if lost_at != node.time:
                lost, lost_at = best.loss(node.time), node.time
            assert lost is not None
            policy = chain.policy(node.progress, node.time)
            tables[0 if node.updates else 1, node.time] += float(node.mass @ lost[everyone, policy])
    return total, tables[0], tables[1], tables[2]


def best_programme(mission: Mission) -> SeeingProgramme:
    """Return the best feedback schedule with at most the mission's budget, by the true kernels."""
    world = mission.world
    problem = SeeingProblem(
        world.kernel,
        world.reward,
        lambda name, t: mission.update(*name).plan.at(t).policy,
        mission.robot.forecast.compares,
        begin=0,
        horizon=mission.horizon,
        in_force=(0, 0, 0),
        limit=mission.limit,
        price=mission.spending.price or 0.0,
        latency=mission.task.latency,
    )
    return solve_seeing(problem)


@dataclass(frozen=True)
class SeeingAfter:
    """The best way on after updates at given times, as the search for fixed times asks for it."""

    programme: SeeingProgramme
    times: tuple[int, ...]
    """Times of the updates so far."""

    @property
    def name(self) -> PlanName:
        """The plan that the last of these updates made."""
        return self._made(self.times)

    def _made(self, times: tuple[int, ...]) -> PlanName:
        problem = self.programme.problem
        if not times:
            return problem.in_force
        before = (0, 0, *times)[-2]
        return problem.made(times[-1], (before, 0, 0), problem.latency.longest)

    def onward(self, time: int, mass: Array) -> tuple[Array, Array]:
        """(T - time + 1,) gains of robots that keep the plan, and (T + 1, S) where they go."""
        problem, name, old = self.programme.problem, self.name, self._made(self.times[:-1])
        arrival = name[0] + name[2]

        def policy_at(t: int) -> Indices:
            return problem.policy(name, t) if t >= arrival else problem.meanwhile(old, t)

        return self.programme.steps(policy_at, time, mass)

    @property
    def values(self) -> Array:
        """(T + 1, S, B + 2) what an update at each time makes of a state; the last column is 1."""
        problem, name = self.programme.problem, self.name
        states, columns = self.programme.values.shape
        values = np.zeros((problem.horizon + 1, states, columns + 1))
        for u in range(name[0] + 1, problem.horizon):
            if (u, name) in self.programme.updated:
                values[u, :, :-1] = self.programme.updated[u, name]
                values[u, :, -1] = 1.0
        return values
