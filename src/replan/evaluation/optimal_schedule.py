"""The floor under every rule: the best update times that exist, with all kernels known.

`feedback` may choose each next update by the state just seen: the dynamic programme of
`replan.schedule.update_programme` in the world itself. `fixed` times are chosen in advance, by branch and
bound under the feedback values: no fixed schedule does better from an update on than the best feedback one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from replan.execute.mission import Mission
from replan.model.kernel import Array, Indices
from replan.planning.optimal_values import oracle_return
from replan.schedule.budget import FIRST_UPDATE
from replan.schedule.update_programme import Problem, Programme, solve
from replan.skip.interval import skip_interval
from replan.skip.segments import stack_world

NODES = 20_000  # partial schedules that branch and bound extends before it gives up the proof
TOLERANCE = 1e-12  # probabilities below this are dropped; on two-burst that moves regret by 2e-10


@dataclass(frozen=True)
class Optimum:
    """The best that any schedule or rule can do with the mission's budget, from its start state."""

    oracle_return: float
    fixed_times: tuple[int, ...]
    fixed_regret: float
    fixed_proved: bool  # False: the best found; feedback_regret bounds what is possible
    feedback_regret: float

    @property
    def fixed_label(self) -> str:
        """`optimal`, or `best found` if the search gave up the proof."""
        return "optimal" if self.fixed_proved else "best found"


def optimum(mission: Mission, *, nodes: int = NODES) -> Optimum:
    """The best fixed and the best feedback schedule."""
    best = float(oracle_return(mission.world)[mission.world.start])
    gained, arrival = _first_step(mission)
    programme = feedback(mission, np.flatnonzero(arrival))
    value = gained + float(arrival[programme.states] @ programme.best[:, mission.budget - 1])
    search = _FixedSearch(mission, programme, nodes)
    search.extend((FIRST_UPDATE,), gained, arrival)
    return Optimum(best, search.times, best - search.value, search.proved, best - value)


def feedback(mission: Mission, states: Indices) -> Programme:
    """The best feedback schedule after a first update that sees one of `states`."""
    world = mission.world
    along = stack_world(world.kernel, world.reward, first=FIRST_UPDATE, horizon=mission.horizon)

    def plan_at(time: int):
        update = mission.update(time)
        return update.plan, update.kernel

    problem = Problem(along, plan_at, mission.execution, mission.spend_all, tolerance=TOLERANCE)
    return solve(problem, FIRST_UPDATE, states, mission.budget - 1)


def feedback_regrets(mission: Mission, largest: int) -> Array:
    """(B,) regret of the best feedback schedule for each budget from 1 to `largest`, by one programme."""
    best = float(oracle_return(mission.world)[mission.world.start])
    gained, arrival = _first_step(mission)
    programme = feedback(replace(mission, budget=largest), np.flatnonzero(arrival))
    return best - gained - arrival[programme.states] @ programme.best


def _first_step(mission: Mission) -> tuple[float, Array]:
    """Return the expected reward of the free step at t = 0, and (S,) the distribution after it."""
    world, propagation = mission.world, mission.update(0).propagation
    start = np.array([world.start])
    (step,) = skip_interval(world.kernel, world.reward, propagation, start, begin=0, end=FIRST_UPDATE)
    return float(step.reward[0]), step.after[0]


class _FixedSearch:
    """Depth first over fixed schedules, the most promising time first, cut where feedback cannot win."""

    def __init__(self, mission: Mission, programme: Programme, nodes: int) -> None:
        self.mission, self.programme, self.nodes = mission, programme, nodes
        self.times: tuple[int, ...] = ()
        self.value = -np.inf
        self.proved = True

    def extend(self, times: tuple[int, ...], gained: float, mass: Array) -> None:
        """Continue a schedule that has gained so much by its last update, where it sees (S,) `mass`."""
        horizon, last, left = self.mission.horizon, times[-1], self.mission.budget - len(times)
        self.nodes -= 1
        more, spread = self.programme.onward(last, mass)
        if left == 0 or not self.mission.spend_all:
            self._offer(times, gained + float(more[-1]))
        if left == 0:
            return
        candidates = np.arange(last + 1, horizon - left + 1 if self.mission.spend_all else horizon)
        bounds = gained + more[candidates - last] + self._ahead(spread, candidates, left - 1)
        for i in np.argsort(-bounds, kind="stable"):
            if bounds[i] <= self.value + 1e-12:
                return
            if self.nodes <= 0 and self.times:
                self.proved = False
                return
            u = int(candidates[i])
            if left == 1 and self.mission.spend_all:
                self._offer((*times, u), float(bounds[i]))
            else:
                self.extend((*times, u), gained + float(more[u - last]), spread[u])

    def _ahead(self, spread: Array, times: Indices, left: int) -> Array:
        """(U,) what the best feedback schedule makes of the mass that it sees at each of the times."""
        values = self.programme.values[times]
        worth = np.einsum("us,us->u", spread[times], values[:, :, left])
        return worth / np.einsum("us,us->u", spread[times], values[:, :, -1])

    def _offer(self, times: tuple[int, ...], value: float) -> None:
        if value > self.value:
            self.times, self.value = times, value
