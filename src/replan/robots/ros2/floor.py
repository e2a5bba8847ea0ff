"""The floor as a robot comes to know it at no update, and the fastest ways on it.

Cells within the range of its sensors are free or blocked as they are seen; the others stay as last seen. Slip
is learned from every step along the path: was the commanded move made? A step tells of the floor near by, so
each cell has its own belief, and a step counts for all cells within `NEAR` of it. Floor is dry at first, that
is, as slippery as the setting says, but for a small probability; and what was felt fades.

Ways are those that a planner like Nav2's finds: fastest on the floor as it is known, with no shorter horizon.
A cell with slip rho takes 1 / (1 - rho) steps to leave. A path of the robot's planner may be slower than the
fastest way of cells for reasons that cells do not show, such as its distance from walls. So a path is kept as
long as it is no slower, against the fastest way, than it was when it came.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from replan import Observation, Plan, Reward, SlipKernel, Ties
from replan.estimate.estimator import Learned
from replan.typing import Array, Indices
from replan.worlds.cell_map import CellMap

NEAR = 2  # cells
SPILLS = np.linspace(0.1, 0.9, 9)  # slips that floor can have beside that of dry floor
SPILLED = 0.05  # probability of any of them where nothing was felt
FADES = 0.02  # share of a belief that goes back to that of floor where nothing was felt, in one step
NOTICED = 0.05  # change of a cell's slip from which it is passed on


class KnownFloor:
    """Estimator of a grid on which cells get blocked or slippery at times and places that nobody tells.

    Parameters
    ----------
    dry : SlipKernel
        The floor before anything is seen or felt.
    """

    def __init__(self, dry: SlipKernel) -> None:
        self.dry = dry
        self.path: frozenset[int] = frozenset()
        """Cells on which the commanded move is known: those of the path that the robot follows."""
        self._dry_slip = np.broadcast_to(dry.slip, (dry.states,)).copy()
        self._prior = np.concatenate([[1 - SPILLED], np.full(len(SPILLS), SPILLED / len(SPILLS))])
        self._made = lru_cache(maxsize=2)(self._make)  # the same kernel while nothing new is known
        self.kernel(self.begin()).prepare()

    def begin(self) -> Learned:
        """Return the cells seen blocked, the slip in use, and beliefs about the slip of the cells felt."""
        return {
            "blocked": np.broadcast_to(self.dry.blocked, (self.dry.states,)).copy(),
            "slip": self._dry_slip,
            "cells": np.empty(0, dtype=np.int64),
            "beliefs": np.empty((0, len(self._prior))),
        }

    def kernel(self, learned: Learned) -> SlipKernel:
        """Return the floor as it is known; the same object if nothing has changed."""
        return self._made(learned["blocked"].tobytes(), learned["slip"].tobytes())

    def see(self, learned: Learned, states: ArrayLike, blocked: ArrayLike) -> Learned:
        """Take in whether cells within the range of the sensors are blocked (`cells_shown`)."""
        now = learned["blocked"].copy()
        now[np.asarray(states, dtype=np.int64)] = np.asarray(blocked, dtype=bool)
        return {**learned, "blocked": now}

    def estimate(self, learned: Learned, seen: Observation) -> tuple[Learned, SlipKernel]:
        """Learn from the step, if it was along the path."""
        before, action = seen.previous_state, seen.previous_action
        if before in self.path and action is not None:
            learned = self._feel(learned, before, action, seen.state)
        return learned, self.kernel(learned)

    def _feel(self, learned: Learned, before: int, action: int, after: int) -> Learned:
        """Learn the slip near a cell from a step; one that no slip explains is passed over."""
        beside = self._beside(before, learned["blocked"])
        by_slip = float(self.dry.law[beside == after].sum())
        if beside[action] != after and by_slip == 0:
            return learned
        slip = learned["slip"].copy()
        felt = dict(zip(learned["cells"].tolist(), learned["beliefs"], strict=True))
        for cell in self._near(before):
            values = np.concatenate([[self._dry_slip[cell]], SPILLS])
            belief = (1 - FADES) * felt.get(cell, self._prior) + FADES * self._prior
            belief = belief * ((beside[action] == after) * (1 - values) + by_slip * values)
            felt[cell] = belief / belief.sum()
            mean = float(felt[cell] @ values)
            if abs(mean - slip[cell]) >= NOTICED:
                slip[cell] = mean
        return {
            **learned,
            "slip": slip,
            "cells": np.array(list(felt)),
            "beliefs": np.array(list(felt.values())),
        }

    def _beside(self, state: int, blocked: np.ndarray) -> Indices:
        """(A,) the cell that each move leads to."""
        cells = np.clip(
            np.divmod(state, self.dry.shape[1]) + SlipKernel.moves, 0, np.array(self.dry.shape) - 1
        )
        beside = cells @ np.array([self.dry.shape[1], 1])
        return np.where(blocked[beside], state, beside)

    def _near(self, state: int) -> Iterator[int]:
        rows, columns = self.dry.shape
        i, j = divmod(state, columns)
        for k in range(max(i - NEAR, 0), min(i + NEAR + 1, rows)):
            for m in range(max(j - NEAR, 0), min(j + NEAR + 1, columns)):
                yield k * columns + m

    def _make(self, blocked: bytes, slip: bytes) -> SlipKernel:
        return SlipKernel(
            self.dry.shape,
            np.frombuffer(slip).copy(),
            law=self.dry.law,
            blocked=np.frombuffer(blocked, dtype=bool).copy(),
        )


_STAY = len(SlipKernel.moves) - 1
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
