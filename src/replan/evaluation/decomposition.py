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

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from replan.errors import InputError
from replan.evaluation.exact import evaluate, oracle_of
from replan.evaluation.visits import Follow, ways_in_world
from replan.execute.mission import Mission, require_world
from replan.model.kernel import Array, Indices
from replan.planning.backward_induction import Plan, plan
from replan.planning.optimal_values import Oracle
from replan.schedule.rule import Rule
from replan.skip.acting import Propagation, Update, make_propagation
from replan.skip.walks import BlindWalk, FollowedSteps, Moves, SeenWalk, last_chance


class Switches(NamedTuple):
    """Which limitations of the robot are removed."""

    look: bool = False
    """Whether the state is seen at every step."""
    replan: bool = False
    """Whether the plan is made anew at every step."""
    know: bool = False
    """Whether plans and propagation use the true kernels."""


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
    require_world(mission)
    forecast, mission = mission.robot.forecast, mission.cropped
    if forecast.moves:
        raise InputError(f"regret is split by cause for the forecast frozen, not {forecast.name}")
    best, sees = oracle_of(mission, best), mission.robot.sees
    seen = {on: expected_return(mission, rule, on, best) for on in COMBINATIONS if on.look or not sees}
    returns = {on: seen[on._replace(look=True)] if sees else seen[on] for on in COMBINATIONS}
    state, stale_plan, model = (float(gain) for gain in shapley(returns))
    regret, lateness = returns[ORACLE] - returns[ROBOT], None
    if not mission.latency.instant:
        lateness = returns[ROBOT] - evaluate(mission, rule, best=best, all_starts=False).expected_return
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


def expected_return(mission: Mission, rule: Rule, on: Switches, best: Oracle) -> float:
    """Return the exact expected return from the start with these switches on."""
    start = np.eye(1, mission.world.states, mission.world.start)[0]
    follow = Follow(mission, rule, SwitchedWays(mission, on, best))
    return float(sum(visit.gains.sum() for visit in follow.visits(start)))


class SwitchedWays:
    """The walks of a robot some of whose limitations are removed. Its decisions are the mission's."""

    def __init__(self, mission: Mission, on: Switches, best: Oracle) -> None:
        self.mission, self.on, self.best = mission, on, best
        self.decisions = ways_in_world(mission)
        self.course, self.seen = self.decisions.course, self.decisions.seen
        self.step = FollowedSteps(self.course)
        self._plan = lru_cache(maxsize=2 * mission.horizon)(self._make_plan)
        self._propagation = lru_cache(maxsize=2 * mission.horizon)(self._make_propagation)

    def exits(self, time: int, update: Update) -> range:
        """Return the exits of the mission's robot."""
        return self.decisions.exits(time, update)

    def asked(self, time: int, update: Update) -> range:
        """Return the times at which the mission's robot is asked."""
        return self.decisions.asked(time, update)

    def behaviour(self, update: Update, time: int) -> Hashable:
        """Return the name of the update."""
        return update.name

    def unasked(self, time: int, update: Update, mass: Array) -> tuple[Array, Array]:
        """Return gains and places of the mission's robot."""
        return self.decisions.unasked(time, update, mass)

    def walk(self, time: int, update: Update, states: Indices, keep: np.ndarray | None = None):
        """Return the walk of robots that saw (R,) states."""
        tau, horizon = update.time, self.mission.horizon
        if asked := self.asked(time, update):
            horizon = asked.start
        if self.on.look or self.seen:
            steps = [self.step(t, self.sighted_policy(tau, t))[0] for t in range(time, horizon)]
            return SeenWalk(time, steps, ()) if self.seen else WatchedWalk(time, steps, (), states)
        actions, estimate = np.empty((len(states), horizon - time), dtype=np.int64), None
        for k, t in enumerate(range(time, horizon)):
            propagation = self._propagation(tau, t)
            estimate = propagation.begin(states) if estimate is None else estimate
            actions[:, k] = propagation.act(estimate, t)
            estimate = propagation.advance(estimate, actions[:, k], t)
        return BlindWalk(self.course, time, states, actions)

    def sighted_policy(self, tau: int, t: int) -> Indices:
        """(S,) the action of each state when it is seen, as right after an update."""
        made = self._plan(tau, t if self.on.replan else tau)
        if self.mission.robot.execution != "belief":
            return made.policy
        return made.ties.choose(made.q_values, plan_time=made.time)

    def _make_plan(self, tau: int, time: int) -> Plan:
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

    def _make_propagation(self, tau: int, t: int) -> Propagation:
        """Return the propagation at t of a robot that does not see its state, after an update at tau."""
        update = self.mission.update(tau)
        if not (self.on.replan or self.on.know):
            return update.propagation
        kernel = self.mission.world.kernel(t) if self.on.know else update.kernel
        made = self._plan(tau, t if self.on.replan else tau)
        return make_propagation(self.mission.robot.execution, made, kernel, sizes=self.mission.sizes)


@dataclass(eq=False)
class WatchedWalk(SeenWalk):
    """R robots that always see their state, and leave when one that does not would."""

    states: Indices
    """(R,) seen at the update."""

    def push(self, mass: Array, chances: Array) -> Moves:
        """Follow (S,) mass that leaves with (R, T + 1) chances; who leaves alike is one."""
        rows, which = np.unique(chances, axis=0, return_inverse=True)
        places = np.zeros((len(rows), len(mass)))
        np.add.at(places, (which.reshape(-1), self.states), mass[self.states])
        gains, leaving, still = np.zeros(last_chance(chances) - self.begin), {}, np.ones(len(rows))
        for k, step in enumerate(self.steps[: len(gains)]):
            gains[k] = still @ (places @ step.reward)
            places = np.stack([step.push(row) for row in places])
            leaving[self.begin + k + 1] = rows[:, self.begin + k + 1] @ places
            still = still - rows[:, self.begin + k + 1]
        return Moves(gains, np.zeros(len(gains)), leaving, {})
