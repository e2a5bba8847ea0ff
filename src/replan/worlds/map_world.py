"""An occupancy map as a world: a robot drives from start to goal over slippery cells.

One step is the time that the robot takes for one cell at its speed. The reward is -(moves to the goal) / 20 for
the realised next cell, moves being counted along free cells, so that walls do not hold up a short-sighted plan.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.model import TVMDP, Reward, SlipKernel, constant
from replan.model.kernel import Array
from replan.worlds.cell_map import CellMap
from replan.worlds.rover import DISTANCE_SCALE, KERNELS_KEPT

SLACK = 1.5  # steps of a mission for each step of the path, where no horizon is given


def steps_for(moves: float) -> int:
    """Return the horizon of a mission whose path has so many moves."""
    return max(2, int(np.ceil(SLACK * moves)))


def build(
    cells: CellMap,
    slip: ArrayLike,
    *,
    start: int,
    goal: int,
    stated_bounds: ArrayLike | None = None,
    law: ArrayLike | None = None,
) -> TVMDP:
    """Return the world of a cell map whose slip at time t is slip[t]; T is the number of slips.

    `law` (5,) says where a slip goes: right, left, down, up, stay; None is uniform.
    """
    slips = np.asarray(slip, dtype=float)
    distances = cells.moves_to(goal)
    if cells.blocked[goal] or cells.blocked[start]:
        raise InputError("the start or the goal lies in a blocked cell of the map")
    if not np.isfinite(distances[start]):
        raise InputError("the map has no way from the start to the goal; smaller cells may open one")

    @lru_cache(maxsize=len(slips) if cells.states * len(slips) <= KERNELS_KEPT else 2)
    def kernel_of(value: float) -> SlipKernel:
        return SlipKernel(cells.shape, value, law=law, blocked=cells.blocked)

    return TVMDP(
        horizon=len(slips),
        kernel=lambda t: kernel_of(float(slips[t])),
        reward=constant(Reward(next_state=-_within_reach(distances) / DISTANCE_SCALE)),
        start=start,
        stated_bounds=None if stated_bounds is None else np.asarray(stated_bounds, dtype=float),
        start_states=np.flatnonzero(np.isfinite(distances)),
        grid=cells.shape,
    )


def _within_reach(distances: Array) -> Array:
    """(S,) the distances, with one more than the greatest where there is no way."""
    known = np.isfinite(distances)
    return np.where(known, distances, distances[known].max() + 1)
