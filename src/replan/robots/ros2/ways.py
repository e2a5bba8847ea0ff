"""The ways that a planner like Nav2's finds: fastest on the floor as it is known, and no shorter horizon.

A cell with slip rho takes 1 / (1 - rho) steps to leave. A path of the robot's planner may be slower than the
fastest way of cells for reasons that cells do not show, such as its distance from walls. So a path is kept as
long as it is no slower, against the fastest way, than it was when it came.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from replan.model.kernel import Array, Indices
from replan.model.reward import Reward
from replan.model.slip import MOVES, SlipKernel
from replan.planning.backward_induction import Plan
from replan.planning.ties import Ties
from replan.worlds.cell_map import CellMap

_STAY = len(MOVES) - 1
_SLOWEST = 1000.0  # steps that a cell takes at most
_ALIKE = 1e-9  # relative difference up to which two ways are equally fast


def steps_of(kernel: SlipKernel) -> Array:
    """(S,) expected steps until a robot has left each cell by the move that it was commanded."""
    slip = np.broadcast_to(kernel.slip, (kernel.states,))
    return 1 / np.maximum(1 - slip, 1 / _SLOWEST)


@dataclass(frozen=True, eq=False)
class FastestWays:
    """The fastest way from every cell to the goal."""

    kernel: SlipKernel
    goal: int
    times: Array = field(repr=False)  # (S,) steps to the goal; infinite if there is no way
    policy: Indices = field(repr=False)  # (S,) first move of the fastest way; stay if there is none

    @classmethod
    def on(cls, kernel: SlipKernel, goal: int) -> FastestWays:
        """Find the ways on a kernel."""
        beside, costs = kernel.destinations()[:, :_STAY], steps_of(kernel)
        ends = np.arange(0, beside.size + 1, _STAY)
        back = csr_array((costs[beside.ravel()], beside.ravel(), ends), shape=(kernel.states,) * 2)
        times = dijkstra(back, indices=goal)
        ahead = times[beside]
        best = ahead.min(axis=1, keepdims=True)
        policy = (ahead <= best * (1 + _ALIKE)).argmax(axis=1)
        policy[~np.isfinite(times)] = policy[goal] = _STAY
        return cls(kernel, goal, times, policy)

    def way_from(self, state: int) -> list[int]:
        """Return the cells of the fastest way from a cell, that cell first; it alone if there is no way."""
        way, beside = [state], self.kernel.destinations()
        while way[-1] != self.goal and self.policy[way[-1]] != _STAY:
            way.append(int(beside[way[-1], self.policy[way[-1]]]))
        return way

    def times_along(self, way: Indices) -> Array:
        """(n,) steps to the goal from each cell of a way along it; infinite before a blocked cell."""
        costs = steps_of(self.kernel)[way]
        costs[-1] = 0.0
        if self.kernel.blocked.size > 1:
            costs[:-1][self.kernel.blocked[way[1:]]] = np.inf
        return costs[::-1].cumsum()[::-1]


@dataclass(frozen=True, eq=False)
class PathInForce:
    """Nav2's path as a way of cells, and how slow it was against the fastest way when it came."""

    cells: CellMap
    way: Indices  # (n,)
    slowness: Array = field(
        repr=False
    )  # (n,) time along the path over that of the fastest way, from each cell

    @classmethod
    def found_on(cls, cells: CellMap, way: Indices, ways: FastestWays) -> PathInForce:
        """Take a path that was found when the fastest ways were these."""
        along, fastest = ways.times_along(way), ways.times[way]
        known = np.isfinite(along) & np.isfinite(fastest) & (fastest > 0)
        slowness = np.ones(len(way))
        slowness[known] = along[known] / fastest[known]
        return cls(cells, way, slowness)

    def policy(self, otherwise: Indices) -> Indices:
        """(S,) the moves along the path, and other ones off it."""
        return self.cells.policy_along(self.way, otherwise)

    def new_policy(self, ways: FastestWays) -> Indices:
        """(S,) the moves after a new path: along this one where that is still as good, else the fastest."""
        way, times = self.way[:-1], ways.times
        along = ways.times_along(self.way)[:-1]
        onward = times[self.way[1:]] + steps_of(ways.kernel)[way]
        limit = times[way] * (1 + _ALIKE)
        kept = (along <= limit * self.slowness[:-1]) | (onward <= limit) | ~np.isfinite(times[way])
        policy, followed = ways.policy.copy(), self.policy(ways.policy)
        policy[way[kept]] = followed[way[kept]]
        return policy


def plan_of(ways: FastestWays, policy: Indices, time: int, ties: Ties) -> Plan:
    """Return a plan of moves; a robot that does not see its state weighs moves by the time from there."""
    known = np.isfinite(ways.times)
    worst = ways.times[known].max() + _SLOWEST
    values = -np.where(known, ways.times, worst)
    return Plan(time, policy, values, ways.kernel, Reward(next_state=np.zeros(len(values))), ties)
