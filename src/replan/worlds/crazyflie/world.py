"""The grid model of a flight, on which the planner works.

A move leads to the commanded cell plus what the wind adds, one cell at most along each axis, with the
calibrated frequencies of the mean wind at that time. Walls clip a move; poles do not, but cost.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from replan.execute.mission import Mission
from replan.model import TVMDP, GeneralKernel, Reward, constant
from replan.model.kernel import Array, Indices
from replan.model.slip import MOVES
from replan.planning.ties import Ties
from replan.skip.propagation import Execution
from replan.worlds.crazyflie.calibration import Calibration, calibration
from replan.worlds.crazyflie.layouts import GRID, START, Layout, beside, state_of
from replan.worlds.crazyflie.wind import Wind
from replan.worlds.slip_grid import DISTANCE_SCALE

BUDGET = 6
PLANNING_HORIZON = 7
COLLISION_LENGTH = 11.0  # m, kappa: what one collision adds to the length flown
COLLISION_COST = 1.0  # what the planner pays to enter a pole's cell, in units of the reward

_SQUARE = [(i, j) for i in range(-2, 3) for j in range(-2, 3)]
_REACHED = np.array([abs(i) + abs(j) < 4 for i, j in _SQUARE])  # all but the corners
SHIFTS = np.array(_SQUARE)[_REACHED]  # (21, 2) rows and columns that one move may lead through


def crazyflie_world(layout: Layout, wind: Wind, *, table: Calibration | None = None) -> TVMDP:
    """Return the time-varying decision process of one layout and wind."""
    table = table or calibration()
    successors = _successors()

    @lru_cache(maxsize=wind.horizon)
    def kernel(t: int) -> GeneralKernel:
        law = displacement_law(table, wind.mean[t])
        return GeneralKernel(successors, np.broadcast_to(law, (GRID * GRID, *law.shape)))

    return TVMDP(
        horizon=wind.horizon,
        kernel=kernel,
        reward=constant(Reward(next_state=next_cell_reward(layout))),
        start=state_of(START),
        start_states=np.flatnonzero(~layout.blocked),
        grid=(GRID, GRID),
        declared_successors=successors,
    )


def crazyflie_mission(
    layout: Layout,
    wind: Wind,
    *,
    execution: Execution = "map",
    ties: Ties | None = None,
    budget: int = BUDGET,
    planning_horizon: int = PLANNING_HORIZON,
    table: Calibration | None = None,
) -> Mission:
    """Return the paper's mission, n/T/H/B = 12/60/7/6, on one layout and wind."""
    world = crazyflie_world(layout, wind, table=table)
    return Mission(world, budget, planning_horizon, ties or Ties(), execution)


def displacement_law(table: Calibration, mean: Array) -> Array:
    """Return (A, 21) probabilities of each shift of rows and columns under a mean wind (2,) in newtons."""
    by_column, by_row = table.drift(float(mean[0])), table.drift(float(mean[1]))
    law = np.zeros((len(MOVES), 5, 5))
    for a, (i, j) in enumerate(MOVES):
        law[a, i + 1 : i + 4, j + 1 : j + 4] = np.outer(by_row, by_column)
    return law.reshape(len(MOVES), 25)[:, _REACHED]


def next_cell_reward(layout: Layout) -> Array:
    """Return (S,) -(moves to the goal)/20, less the cost of a collision where a pole stands."""
    distances = layout.distances.copy()
    for s in np.flatnonzero(np.isinf(distances)):  # poles, and cells that poles shut in
        nearest = layout.distances[beside(int(s))].min()
        distances[s] = nearest + 1 if np.isfinite(nearest) else 2 * GRID
    return -distances / DISTANCE_SCALE - COLLISION_COST * layout.blocked


def _successors() -> Indices:
    """Return (S, 21) the cell that each shift leads to, clipped at the walls."""
    i, j = np.divmod(np.arange(GRID * GRID), GRID)
    to_i = np.clip(i[:, None] + SHIFTS[:, 0], 0, GRID - 1)
    to_j = np.clip(j[:, None] + SHIFTS[:, 1], 0, GRID - 1)
    return to_i * GRID + to_j
