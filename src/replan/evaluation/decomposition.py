"""The regret split by cause: the state not seen, the stale plan, the wrong model.

Three switches turn the robot into the oracle, one by one or together. At time t, with the last update at tau:

- look: the state is seen at every step. Off: it is propagated from the one seen at tau, as the mission's
  execution does it.
- replan: the plan is remade for time t at every step. Off: the first-step policy (for belief execution, the
  Q-values) of the plan made at tau is reused.
- know: plans use the true kernels up to the end of the horizon, and propagation at t uses P_t. Off: both use
  the estimate of the last update, held fixed, with the planning horizon min(H, T - time of the plan). The
  estimate is not refreshed between updates, even where the plan is: that would be knowing.

A plan of time u is therefore argmax Q*_u with know, and the mission's own planning on P-hat_{tau-1} without;
u is t with replan and tau without. Whichever switches are on, the rule is asked exactly as in the mission,
with the estimate and the plan of a real update, so schedules differ only as far as a rule looks at the state.

A localised robot sees its state anyway: no part of its regret comes from the state.

Where updates take time, all switched robots get each plan in the step in which its update begins, at the same
update times. The robot itself loses more than the one with all switches off: that is the cost of lateness.

All three on is the oracle, all off is the robot; all eight are evaluated exactly. The parts are the Shapley
values of the switches, each one's gain averaged over the orders of turning them on, so they add up
to the regret. A part can be negative: a better model may lead a robot that cannot see astray.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from replan.errors import InputError, require
from replan.evaluation.exact import from_start
from replan.evaluation.localised import Chain
from replan.evaluation.visited_steps import Robots, UpdateTimes, one_by_one, row_blocks, visits
from replan.execute.mission import Mission, require_mission
from replan.execute.task import Progress
from replan.model.kernel import Array, Indices
from replan.planning.backward_induction import Oracle, Plan, oracle, plan
from replan.schedule.rule import Rule
from replan.skip.propagation import Propagation, SkipStep, make_propagation


class Switches(NamedTuple):
    """Which limitations of the robot are removed."""

    look: bool = False
    """Whether the state is seen at every step."""
    replan: bool = False
    """Whether the plan is made anew at every step."""
    know: bool = False
    """Whether plans and propagation use the true kernels."""


NO_ACTIONS = np.empty(0, dtype=np.int64)
COMBINATIONS = tuple(Switches(*on) for on in product((False, True), repeat=3))
ROBOT, ORACLE = COMBINATIONS[0], COMBINATIONS[-1]


@dataclass(frozen=True)
class Decomposition:
    """Regret from the start state in three parts, and the cost of lateness, that add up to it."""

    state: float
    """Cost of not seeing the state."""
    plan: float
    """Cost of the stale plan."""
    model: float
    """Cost of the wrong model."""
    regret: float
    """Sum of all."""
    combinations: Mapping[Switches, float] = field(repr=False)
    """Expected return of each of the eight combinations, all of a robot whose updates take no time."""
    lateness: float | None = None
    """Cost of updates that take time; None if they take none."""

    @property
    def shares(self) -> dict[str, float]:
        """Each part as a fraction of the regret; all zero where there is none."""
        return {name: part / self.regret if self.regret > 0 else 0.0 for name, part in self.parts.items()}

    @property
    def parts(self) -> dict[str, float]:
        """The parts by name, lateness only where updates take time."""
        parts = {"state": self.state, "plan": self.plan, "model": self.model}
        return parts if self.lateness is None else parts | {"lateness": self.lateness}


def decompose(mission: Mission, rule: Rule, *, best: Oracle | None = None) -> Decomposition:
    """Split the exact regret of a rule by its Shapley values over the three switches.

    Parameters
    ----------
    mission : Mission
        The mission to evaluate.
    rule : Rule
        Decides when to update.
    best : Oracle, optional
        The oracle of the mission's world, if it is known already.

    Returns
    -------
    Decomposition
        The cost of the state not seen, of the stale plan and of the wrong model; that of lateness too if
        updates take time.
    """
    require_mission(mission)
    forecast = mission.robot.forecast
    if forecast.moves:
        raise InputError(f"regret is split by cause for the forecast frozen, not {forecast.name}")
    if best is not None:
        require(Oracle, best=best)
    best = best or oracle(mission.world)
    if mission.robot.sees:
        seen = {on: _seeing_return(mission, rule, on, best) for on in COMBINATIONS if on.look}
        returns = {on: seen[on._replace(look=True)] for on in COMBINATIONS}
    else:
        update_times = UpdateTimes(mission, rule)
        returns = {on: expected_return(update_times, on, best=best) for on in COMBINATIONS}
    state, stale_plan, model = (float(gain) for gain in shapley(returns))
    regret, lateness = returns[ORACLE] - returns[ROBOT], None
    if not mission.task.latency.instant:
        lateness = returns[ROBOT] - from_start(mission, rule, None)[0]
        regret += lateness
    return Decomposition(state, stale_plan, model, regret, returns, lateness)


def shapley(returns: Mapping[Switches, float]) -> Array:
    """(3,) the gain of each switch, averaged over the six orders of turning them on."""
    gains = np.zeros(3)
    orders = list(permutations(range(3)))
    for order in orders:
        now = [False, False, False]
        for switch in order:
            before = returns[Switches(*now)]
            now[switch] = True
            gains[switch] += returns[Switches(*now)] - before
    return gains / len(orders)


def expected_return(update_times: UpdateTimes, on: Switches, *, best: Oracle) -> float:
    """Return the exact expected return from the start with these switches on."""
    robot = _SwitchedRobot(update_times.mission, on, best, apart=update_times.by_state)
    return sum(float(still @ step.reward) for _, step, still in visits(update_times, robot.groups))


def _seeing_return(mission: Mission, rule: Rule, on: Switches, best: Oracle) -> float:
    """Return the exact expected return of a localised robot with these switches on."""
    robot = _SwitchedRobot(mission, on, best, apart=False)
    chain = Chain(mission, rule, lambda progress, t: robot.sighted_policy(progress.last_update, t))
    start = np.eye(1, mission.world.states, mission.world.start)[0]
    return sum(
        float(node.mass @ chain.step(node.progress, node.time).reward) for node in chain.forwards(start)
    )


@dataclass(frozen=True)
class _SwitchedRobot:
    """The mission's robot with some of its limitations removed."""

    mission: Mission
    on: Switches
    best: Oracle
    apart: bool

    def groups(self, progress: Progress, mass: Array) -> Iterator[Robots]:
        """Group the (S,) mass at an update.

        Robots that always see where they are travel as one row, unless the rule tells them apart by the state
        at the update.
        """
        if self.on.look and not self.apart:
            share = mass.sum(keepdims=True)
            rows = np.flatnonzero(mass)[:1]
            yield rows, one_by_one(share, partial(self.interval, progress, rows, mass[None] / share))
            return
        for rows in row_blocks(self.mission, mass):
            before = np.zeros((len(rows), len(mass)))
            before[np.arange(len(rows)), rows] = 1.0
            yield rows, one_by_one(mass[rows], partial(self.interval, progress, rows, before))

    def interval(self, progress: Progress, rows: Indices, before: Array, end: int) -> Iterator[SkipStep]:
        """Yield the steps from an update, where (R, S) `before` is, to `end`; their actions are left out."""
        tau, estimate = progress.last_update, None
        for t in range(tau, end):
            kernel, reward = self.mission.world.kernel(t), self.mission.world.reward(t)
            if self.on.look:
                policy = self.sighted_policy(tau, t)
                after, gained = np.zeros_like(before), np.zeros(len(before))
                for action in np.unique(policy):
                    actions = np.full(len(before), action)
                    part = np.where(policy == action, before, 0.0)
                    pushed = kernel.push(part, actions)
                    after += pushed
                    gained += reward.along(part, actions, pushed)
            else:
                propagation = self._propagation(tau, t)
                estimate = propagation.begin(rows) if estimate is None else estimate
                actions = propagation.act(estimate, t)
                after = kernel.push(before, actions)
                gained = reward.along(before, actions, after)
                estimate = propagation.advance(estimate, actions, t)
            yield SkipStep(t, NO_ACTIONS, before, after, gained)
            before = after

    def sighted_policy(self, tau: int, t: int) -> Indices:
        """(S,) the action of each state when it is seen, as right after an update."""
        made = self._plan(tau, t)
        if self.mission.robot.execution != "belief":
            return made.policy
        return made.ties.choose(made.q_values, plan_time=made.time)

    @cached_property
    def _plan(self):
        """The plan in force at t after an update at tau."""
        made = lru_cache(maxsize=2 * self.mission.horizon)(self._made)
        return lambda tau, t: made(tau, t if self.on.replan else tau)

    def _made(self, tau: int, time: int) -> Plan:
        """Return the plan of `time` with what is known after an update at tau."""
        mission = self.mission
        if self.on.know:
            world, q_values = mission.world, self.best.q_values(time)
            policy = mission.robot.ties.choose(q_values, plan_time=time, states=np.arange(world.states))
            following = self.best.values[time + 1]
            return Plan(time, policy, following, world.kernel(time), world.reward(time), mission.robot.ties)
        update = mission.update(tau)
        if time == tau:
            return update.plan
        horizon = min(mission.robot.planning_horizon, mission.horizon - time)
        return plan(update.kernel, mission.world.reward, time=time, horizon=horizon, ties=mission.robot.ties)

    @cached_property
    def _propagation(self):
        """(tau, t) -> propagation at t of a robot that does not see its state, after an update at tau."""

        @lru_cache(maxsize=2 * self.mission.horizon)
        def at(tau: int, t: int) -> Propagation:
            update = self.mission.update(tau)
            kernel = self.mission.world.kernel(t) if self.on.know else update.kernel
            return make_propagation(
                self.mission.robot.execution, self._plan(tau, t), kernel, sizes=self.mission.sizes
            )

        return at if self.on.replan or self.on.know else lambda tau, t: self.mission.update(tau).propagation
