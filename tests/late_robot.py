"""A robot whose updates take time, simulated literally: convention 15 by dense matrices, step by step.

It shares no code with the package but the arrays of the world and, if one is given, the forecast. Every
outcome is followed: the states that can be seen, the durations that can be drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from replan.execute.mission import Mission
from replan.forecast.base import Evidence, mean_kernel

TIED = 1e-9


@dataclass(frozen=True)
class Moment:
    """What a decision may depend on."""

    time: int
    last_update: int
    left: int
    seen: int
    """The state seen last; that of a localised robot is the present one."""
    plan: PlanInForce


Options = Callable[[Moment], tuple[bool, ...]]


@dataclass(frozen=True, eq=False)
class PlanInForce:
    begun: int
    estimate: np.ndarray
    q_values: Callable[[int], np.ndarray]
    kernel: Callable[[int], np.ndarray]
    judged: PlanInForce | None = None
    """The best plan on the same estimate, where a worse planner made this one."""


@dataclass(frozen=True, eq=False)
class Pending:
    arrival: int
    plan: PlanInForce
    begun_at: int
    seen: int
    actions: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class LateRobot:
    time: int
    places: np.ndarray
    """(S,) where it can be, given all that it has seen."""
    plan: PlanInForce
    estimate: object
    pending: Pending | None
    left: int
    last_update: int
    seen: int


def dense(kernel) -> np.ndarray:
    lists = kernel.general()
    states, actions = lists.probabilities.shape[:2]
    out = np.zeros((states, actions, states))
    for s in range(states):
        for k, to in enumerate(lists.successors[s]):
            out[s, :, to] += lists.probabilities[s, :, k]
    return out


class LateMission:
    """Values of a mission by following the literal robot.

    `spoil` turns (S, A) values at a time into those that the robot's own planner goes by.
    """

    def __init__(
        self, mission: Mission, spoil: Callable[[np.ndarray, int], np.ndarray] | None = None
    ) -> None:
        self.spoil = spoil
        self.mission, self.world, self.robot = mission, mission.world, mission.robot
        steps = mission.robot.update_steps
        self.durations = {steps: 1.0} if isinstance(steps, int) else dict(steps)
        self.spacing = max(1, *self.durations)
        self.waiting = mission.world.waiting if mission.robot.meanwhile == "wait" else None
        self.kernels = [dense(mission.world.kernel(t)) for t in range(mission.horizon)]

    def gains(self, t: int, kernel: np.ndarray, ahead: np.ndarray) -> np.ndarray:
        reward = self.world.reward(t)
        q = kernel @ (ahead if reward.next_state is None else ahead + reward.next_state)
        return q if reward.state_action is None else q + reward.state_action

    def best_first_step(self, time: int, kernel: Callable[[int], np.ndarray]) -> np.ndarray:
        values, end = np.zeros(self.world.states), min(time + self.robot.planning_horizon, self.world.horizon)
        for t in range(end - 1, time, -1):
            values = self.gains(t, kernel(t), values).max(axis=1)
        return self.gains(time, kernel(time), values)

    def make_plan(self, begun: int, arrival: int, before: PlanInForce | None) -> PlanInForce:
        """The plan of an update begun at a time, for its arrival, from what is known when it begins."""
        estimate, moves = self.kernels[max(begun - 1, 0)], self.robot.forecast.moves
        if not moves:
            q = self.best_first_step(arrival, lambda t: estimate)
            return PlanInForce(begun, estimate, lambda t: q, lambda t: estimate)
        earlier = None
        if before is not None and before.begun:
            earlier = before.begun, self.world.kernel(before.begun - 1)
        known = self.world.knowledge
        forecast = self.robot.forecast.informed_by(known, None)
        expected = mean_kernel(
            forecast.futures(
                Evidence(
                    begun,
                    self.world.horizon,
                    self.world.kernel(max(begun - 1, 0)),
                    known.nominal,
                    known.drift.bounds[:begun],
                    earlier,
                )
            )
        )
        kernel = [dense(expected(t)) if t >= begun else estimate for t in range(self.world.horizon)]
        q = {t: self.best_first_step(t, kernel.__getitem__) for t in range(arrival, self.world.horizon)}
        return PlanInForce(begun, estimate, q.__getitem__, kernel.__getitem__)

    def planned(self, begun: int, arrival: int, before: PlanInForce | None) -> PlanInForce:
        """The plan that an update puts in force, by the robot's own planner."""
        best, spoil = self.make_plan(begun, arrival, before), self.spoil
        if spoil is None:
            return best
        return replace(best, q_values=lambda t: spoil(best.q_values(t), arrival), judged=best)

    def best_action(self, worth: np.ndarray) -> int:
        return int(np.flatnonzero(worth >= worth.max() - TIED)[0])

    def certain(self, state: int) -> object:
        return state if self.robot.execution == "map" else np.eye(self.world.states)[state]

    def moved(self, estimate, kernel: np.ndarray, action: int) -> object:
        if self.robot.execution == "map":
            return self.best_action(kernel[estimate, action])
        return estimate @ kernel[:, action]

    def action(self, robot: LateRobot) -> int:
        if robot.pending is not None and self.waiting is not None:
            return self.waiting
        q = robot.plan.q_values(robot.time)
        if self.robot.execution == "belief":
            return self.best_action(robot.estimate @ q)
        return self.best_action(q[robot.seen if self.robot.sees else robot.estimate])

    def arrived(self, robot: LateRobot) -> LateRobot:
        """The robot at the time at which its new plan comes into force."""
        pending = robot.pending
        if pending is None or pending.arrival > robot.time:
            return robot
        estimate = self.certain(pending.seen)
        for t, action in enumerate(pending.actions, start=pending.begun_at):
            estimate = self.moved(estimate, pending.plan.kernel(t), action)
        return replace(robot, plan=pending.plan, estimate=estimate, pending=None)

    def updated(self, robot: LateRobot, state: int, steps: int) -> LateRobot:
        """The robot after it has begun an update in a state."""
        arrival = robot.time + steps
        robot = replace(
            robot,
            places=np.eye(self.world.states)[state],
            estimate=self.certain(state),
            left=robot.left - 1,
            last_update=robot.time,
            seen=state,
        )
        if arrival >= self.world.horizon:
            return replace(robot, pending=Pending(arrival, robot.plan, robot.time, state))
        plan = self.planned(robot.time, arrival, robot.plan)
        return self.arrived(replace(robot, pending=Pending(arrival, plan, robot.time, state)))

    def acted(self, robot: LateRobot) -> tuple[float, LateRobot]:
        """The expected reward of one step, and the robot after it."""
        t, action, kernel = robot.time, self.action(robot), self.kernels[robot.time]
        reward, after, gain = self.world.reward(t), np.zeros(self.world.states), 0.0
        for s, p in enumerate(robot.places):
            if reward.state_action is not None:
                gain += p * reward.state_action[s, action]
            for to in range(self.world.states):
                after[to] += p * kernel[s, action, to]
                if reward.next_state is not None:
                    gain += p * kernel[s, action, to] * reward.next_state[to]
        pending = robot.pending
        if pending is not None:
            pending = replace(pending, actions=(*pending.actions, action))
        estimate = self.moved(robot.estimate, robot.plan.kernel(t), action)
        return gain, replace(robot, time=t + 1, places=after, estimate=estimate, pending=pending)

    def start(self) -> LateRobot:
        start = self.world.start
        left = self.mission.spending.limit or self.world.horizon
        places = np.eye(self.world.states)[start]
        plan = self.planned(0, 0, None)
        return LateRobot(0, places, plan, self.certain(start), None, left, 0, start)

    def loss_and_gain(self, moment: Moment) -> tuple[float, float]:
        """Loss of the old plan at the arrival, and gain of an update, of a robot that sees its state.

        Both count what the best plan on the estimate of the last update did not have already.
        """
        loss, gain, judged = 0.0, 0.0, moment.plan.judged
        for steps, chance in self.durations.items():
            arrival = moment.time + steps
            now = self.make_plan(moment.time, moment.time, moment.plan)
            gone_on = self.follow(moment, None, self.world.horizon, now)[0]
            if judged is not None:
                better = self.follow(replace(moment, plan=judged), None, self.world.horizon, now)[0]
                gone_on = max(gone_on, better)
            if arrival >= self.world.horizon:
                expected = self.make_plan(moment.time, self.world.horizon - 1, moment.plan)
                gain += chance * (
                    self.follow(moment, None, arrival, expected, meanwhile=arrival)[0] - gone_on
                )
                continue
            new = self.make_plan(moment.time, arrival, moment.plan)
            updated = self.follow(moment, new, self.world.horizon, new, meanwhile=arrival)
            gain += chance * (updated[0] - gone_on)
            places = self.follow(moment, None, arrival, new, meanwhile=arrival)[1]
            ahead = self.following(new, arrival + 1)
            q = self.gains(arrival, new.kernel(arrival), ahead)
            for s, p in enumerate(places):
                best, kept = (self.best_action(plan.q_values(arrival)[s]) for plan in (new, moment.plan))
                if judged is not None and best == self.best_action(judged.q_values(arrival)[s]):
                    continue
                loss += chance * p * (q[s, best] - q[s, kept])
        return loss, gain

    def following(self, plan: PlanInForce, begin: int) -> np.ndarray:
        values = np.zeros(self.world.states)
        for t in range(self.world.horizon - 1, begin - 1, -1):
            q = self.gains(t, plan.kernel(t), values)
            values = np.array([q[s, self.best_action(plan.q_values(t)[s])] for s in range(len(q))])
        return values

    def follow(self, moment: Moment, new, end: int, expected: PlanInForce, *, meanwhile: int = 0):
        """Expected reward and places of a robot that sees its state, on the kernels that `expected` has."""
        places, total = np.eye(self.world.states)[moment.seen], 0.0
        for t in range(moment.time, min(end, self.world.horizon)):
            after, kernel = np.zeros(self.world.states), expected.kernel(t)
            q = self.gains(t, kernel, np.zeros(self.world.states))
            for s, p in enumerate(places):
                plan = new if new is not None and t >= meanwhile else moment.plan
                action = self.best_action(plan.q_values(t)[s])
                if t < meanwhile and self.waiting is not None:
                    action = self.waiting
                total += p * q[s, action]
                after += p * kernel[s, action]
            places = after
        return total, places

    def value(self, options: Options, *, price: float = 0.0) -> float:
        """The best expected return, less the price of updates, that the options leave."""

        def seen(robot: LateRobot) -> list[tuple[float, LateRobot]]:
            """Localised robots see where they are."""
            if not self.robot.sees:
                return [(1.0, robot)]
            return [
                (p, replace(robot, places=np.eye(len(robot.places))[s], seen=s))
                for s, p in enumerate(robot.places)
                if p > 0
            ]

        def go_on(robot: LateRobot) -> float:
            gain, following = self.acted(robot)
            return gain + value(following)

        def value(robot: LateRobot) -> float:
            if robot.time == self.world.horizon:
                return 0.0
            return sum(p * decided(each) for p, each in seen(self.arrived(robot)))

        def decided(robot: LateRobot) -> float:
            can = robot.time >= 1 and robot.left > 0 and robot.pending is None
            allowed = (False,)
            if can and robot.last_update < robot.time:
                allowed = options(Moment(robot.time, robot.last_update, robot.left, robot.seen, robot.plan))
            best = -np.inf
            for update in allowed:
                worth = 0.0 if update else go_on(robot)
                if update:
                    worth = -price
                    for s, p in enumerate(robot.places):
                        for steps, chance in self.durations.items():
                            if p > 0:
                                worth += p * chance * go_on(self.updated(robot, s, steps))
                best = max(best, worth)
            return best

        return value(self.start())
