"""Missions run by an `Agent` in a simulated world.

With estimates that depend on what was seen, returns can only be sampled. The numbers drawn are those of
`replan.evaluation.rollouts`, so estimators, rules and the oracle are compared on paired runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError, require
from replan.estimate.estimator import Estimator
from replan.execute.agent import Agent
from replan.execute.mission import Mission
from replan.model.kernel import Array, Indices
from replan.model.streams import uniforms
from replan.model.world import World
from replan.schedule.rule import Decision, Rule


class SimulatedRobot:
    """Moves through a world with the random numbers of a seed, the same that rollouts draw.

    Parameters
    ----------
    world : World
        The world to move in.
    seed : int
        Seed of the draws.
    """

    def __init__(self, world: World, *, seed: int = 0) -> None:
        require(World, world=world)
        self.world, self.seed = world, seed
        self.state, self.time, self.total_reward = world.start, 0, 0.0

    def look(self) -> int:
        """Return the state."""
        return self.state

    def do(self, action: int) -> None:
        """Take one step."""
        t, here, taken = self.time, np.array([self.state]), np.array([action])
        following = self.world.kernel(t).sample(here, taken, uniforms([self.seed], t))
        self.total_reward += float(self.world.reward(t).realised(here, taken, following)[0])
        self.state, self.time = int(following[0]), t + 1


@dataclass(frozen=True)
class AgentRun:
    """One mission, step by step."""

    times: tuple[int, ...]
    """Times of the updates."""
    decisions: tuple[tuple[int, Decision], ...] = field(repr=False)
    """Time and decision, for every t from 1 on."""
    states: Indices = field(repr=False)
    """(T + 1,) true states."""
    believed: Indices = field(repr=False)
    """(T,) believed states, the likeliest one of a belief."""
    actions: Indices = field(repr=False)
    """(T,)."""
    total_reward: float
    """Sum of the rewards."""


def run_agent(
    mission: Mission, rule: Rule, *, seed: int = 0, estimator: Estimator | None = None, **options: Any
) -> AgentRun:
    """Run an agent through the mission once, with the numbers of `seed`; options are those of `Agent`.

    On a robot a rule that raises only loses its decision; here it is an `InputError`.

    Parameters
    ----------
    mission : Mission
        The mission to run.
    rule : Rule
        Decides when to update.
    seed : int
        Seed of the robot's steps, and of what the agent draws.
    estimator : Estimator, optional
        In place of the mission's.
    **options
        Those of `Agent`.

    Returns
    -------
    AgentRun
        Updates, decisions, states and actions of the run.
    """
    agent = Agent.on(mission, rule, estimator=estimator, seed=seed, trial=False, **options)
    robot, previous = SimulatedRobot(mission.world, seed=seed), None
    agent.start(robot.look())
    times, decisions, states, believed, actions = [], [], [robot.state], [], []
    for t in range(mission.horizon):
        sight = (robot.look(),) if mission.robot.sees else ()
        decision = agent.due(*sight)
        if agent.log and agent.log[-1].what == "failed rule":
            raise InputError(f"{rule.name}: at time {t}: {agent.log[-1].why}")
        if t > 0:
            decisions.append((t, decision))
        if decision.update:
            agent.update(robot.look(), previous)
            times.append(t)
        estimate = agent.estimate
        believed.append(int(estimate if mission.robot.execution == "map" else np.argmax(estimate)))
        actions.append(agent.act(*sight))
        previous = robot.state
        robot.do(actions[-1])
        states.append(robot.state)
    seen = np.array(states), np.array(believed), np.array(actions)
    return AgentRun(tuple(times), tuple(decisions), *seen, robot.total_reward)


def learned_samples(
    mission: Mission,
    rule: Rule,
    make_estimator: Callable[[Mission], Estimator],
    seeds: ArrayLike,
    **options: Any,
) -> tuple[Array, Indices]:
    """(N,) returns and (N,) numbers of updates of missions on estimated kernels, one estimator each.

    Options are those of `Agent`.
    """
    runs = [
        run_agent(mission, rule, seed=int(seed), estimator=make_estimator(mission), **options)
        for seed in np.atleast_1d(seeds)
    ]
    return np.array([run.total_reward for run in runs]), np.array([len(run.times) for run in runs])
