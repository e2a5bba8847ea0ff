"""Expected returns by following every state that can be seen, one robot at a time, for tiny worlds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan.execute.mission import Mission

NOTHING, LOOK, PLAN, BOTH = (False, False), (True, False), (False, True), (True, True)


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


def seen(mission: Mission, robot: Robot, state: int) -> Robot:
    estimate = mission.update(robot.plan_time).propagation.begin(np.array([state]))
    return Robot(robot.time, robot.plan_time, estimate, tuple(np.eye(mission.world.states)[state]))


def planned(robot: Robot) -> Robot:
    return Robot(robot.time, robot.time, robot.estimate, robot.places)


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


def outcomes(mission: Mission, robot: Robot, kind: tuple[bool, bool]) -> list[tuple[float, int, Robot]]:
    """Probability, state seen (-1: none) and robot after a look, a plan, both or nothing."""
    look, plan = kind
    robot = planned(robot) if plan else robot
    if not look:
        return [(1.0, -1, robot)]
    return [(p, s, seen(mission, robot, s)) for s, p in enumerate(robot.places) if p > 0]


def expected_return(mission: Mission, kind_at) -> float:
    """Of a schedule that is a function of (time, (time, state) of every look so far) -> kind."""

    def value(robot: Robot, looks: tuple) -> float:
        if robot.time == mission.horizon:
            return 0.0
        total = 0.0
        for p, state, after in outcomes(mission, robot, kind_at(robot.time, looks)):
            gain, following = acted(mission, after)
            known = (*looks, (robot.time, state)) if state >= 0 else looks
            total += p * (gain + value(following, known))
        return total

    return value(started(mission), ())


def best_objective(mission: Mission, kinds, *, look_price: float = 0.0, plan_price: float = 0.0) -> float:
    """The best over all feedback schedules; `kinds(time, looks, plans)` are those that may follow so many."""

    def value(robot: Robot, looks: int, plans: int) -> float:
        if robot.time == mission.horizon:
            return 0.0
        best = -np.inf
        for look, plan in kinds(robot.time, looks, plans):
            total = -look_price * look - plan_price * plan
            for p, _, after in outcomes(mission, robot, (look, plan)):
                gain, following = acted(mission, after)
                total += p * (gain + value(following, looks + look, plans + plan))
            best = max(best, total)
        return best

    return value(started(mission), 0, 0)
