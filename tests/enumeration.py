"""Expected returns by following every state that can be seen, one robot at a time, for tiny worlds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from replan.execute.mission import Mission


@dataclass(frozen=True)
class Robot:
    """The robot before its decision at `time`: its plan, its estimate, and where it can be."""

    time: int
    plan_time: int
    estimate: object
    places: tuple[float, ...]


def started(mission: Mission) -> Robot:
    start = np.array([mission.world.start])
    places = np.eye(mission.world.states)[mission.world.start]
    return Robot(0, 0, mission.update(0).propagation.begin(start), tuple(places))


def updated(mission: Mission, robot: Robot, state: int) -> Robot:
    estimate = mission.update(robot.time).propagation.begin(np.array([state]))
    return Robot(robot.time, robot.time, estimate, tuple(np.eye(mission.world.states)[state]))


def acted(mission: Mission, robot: Robot) -> tuple[float, Robot]:
    """The expected reward of one step, and the robot after it."""
    propagation, world, t = mission.update(robot.plan_time).propagation, mission.world, robot.time
    actions = propagation.act(robot.estimate, t)
    dense = np.zeros((world.states, world.states))
    kernel = world.kernel(t).general()
    for s in range(world.states):
        for k, to in enumerate(kernel.successors[s]):
            dense[s, to] += kernel.probabilities[s, int(actions[0]), k]
    reward, gain = world.reward(t), 0.0
    after = np.zeros(world.states)
    for s, probability in enumerate(robot.places):
        if reward.state_action is not None:
            gain += probability * reward.state_action[s, int(actions[0])]
        for to in range(world.states):
            if reward.next_state is not None:
                gain += probability * dense[s, to] * reward.next_state[to]
            after[to] += probability * dense[s, to]
    estimate = propagation.advance(robot.estimate, actions, t)
    return gain, Robot(t + 1, robot.plan_time, estimate, tuple(after))


def outcomes(mission: Mission, robot: Robot, update: bool) -> list[tuple[float, Robot]]:
    """Probability of each state that an update shows, and the robot then; without one, the robot as it is."""
    if not update:
        return [(1.0, robot)]
    return [(p, updated(mission, robot, s)) for s, p in enumerate(robot.places) if p > 0]


def expected_return(mission: Mission, times: Collection[int]) -> float:
    """Of updates at given times."""

    def value(robot: Robot) -> float:
        if robot.time == mission.horizon:
            return 0.0
        total = 0.0
        for p, after in outcomes(mission, robot, robot.time in times):
            gain, following = acted(mission, after)
            total += p * (gain + value(following))
        return total

    return value(started(mission))


def best_objective(mission: Mission, *, most: int, price: float) -> float:
    """The best over all feedback schedules of at most so many updates, the first at any time from 1 on."""

    def value(robot: Robot, made: int) -> float:
        if robot.time == mission.horizon:
            return 0.0
        best = -np.inf
        for update in (False, True) if robot.time > 0 and made < most else (False,):
            total = -price * update
            for p, after in outcomes(mission, robot, update):
                gain, following = acted(mission, after)
                total += p * (gain + value(following, made + update))
            best = max(best, total)
        return best

    return value(started(mission), 0)
