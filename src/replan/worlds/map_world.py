"""An occupancy map as a world: a robot drives from start to goal over slippery cells.

One step is the time that the robot takes for one cell at its speed. The reward is -(moves to the goal) / 20
for the realised next cell, moves being counted along free cells, so that walls do not hold up a short-sighted
plan.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from replan.errors import InputError
from replan.model import TVMDP, KernelFamily, ModelFamily, Reward, SlipKernel, constant
from replan.model.kernel import Array
from replan.worlds.cell_map import CellMap
from replan.worlds.map_file import OccupancyMap, read_map
from replan.worlds.mars_rover import Drift
from replan.worlds.parameters import Fraction, Horizon, Parameters
from replan.worlds.slip_grid import DISTANCE_SCALE, KERNELS_KEPT

Metres = Annotated[float, Field(gt=0)]
Position = Annotated[tuple[float, ...], Field(min_length=2, max_length=2, strict=False)]

SLACK = 1.5  # steps of a mission for each step of the path, where no horizon is given


class Map(Parameters):
    """A map server's map, cut into cells, with a slip that drifts."""

    file: str | None = None
    """The map's YAML file, relative to the setting; `replan ros` can take the map from a topic instead."""
    cell: Metres = 0.5
    """Side of a cell in metres."""
    inflation: Annotated[float, Field(ge=0)] = 0.0
    """Metres that the centre of a free cell is away from obstacles."""
    unknown_is_free: bool = False
    """Whether the robot may enter unknown ground."""
    speed: Annotated[float, Field(gt=0)] = 0.5
    """Speed of the robot in m/s: a step is the time for one cell."""
    start: Position | None = None
    """x and y in metres; a robot's own position in `replan ros`."""
    goal: Position | None = None
    """x and y in metres; the end of the robot's path in `replan ros`."""
    horizon: Horizon | None = None
    """Steps, T; without it 1.5 times the moves from start to goal."""
    drift: Drift
    """Slip over time."""
    drift_bound: Fraction | None = None
    """Drift bound of every step that rules are given in place of the true drift."""

    @property
    def step_seconds(self) -> float:
        """Seconds that one step takes."""
        return self.cell / self.speed

    def cells(self) -> CellMap:
        """Return the cells of the map file."""
        if self.file is None:
            raise InputError("missing key 'file': the YAML file of a map")
        return self.cut(read_map(self.file))

    def cut(self, occupancy: OccupancyMap) -> CellMap:
        """Return the cells of a map."""
        return CellMap.cut(
            occupancy,
            cell=self.cell,
            inflation=self.inflation,
            unknown_is_free=self.unknown_is_free,
        )

    def build(self) -> TVMDP:
        """Return the world from `start` to `goal`."""
        cells = self.cells()
        return self.world_on(
            cells, start=_state(cells, "start", self.start), goal=_state(cells, "goal", self.goal)
        )

    def world_on(self, cells: CellMap, *, start: int, goal: int, moves: float | None = None) -> TVMDP:
        """Return the world on these cells; `moves` of the path set the horizon where none is given."""
        moves = float(cells.moves_to(goal)[start]) if moves is None else moves
        horizon = self.horizon or steps_for(moves if np.isfinite(moves) else 1)
        bounds = None if self.drift_bound is None else np.full(horizon - 1, self.drift_bound)
        slip = self.drift.profile(horizon)
        return build_on(cells, slip, start=start, goal=goal, stated_bounds=bounds)


def steps_for(moves: float) -> int:
    """Return the horizon of a mission whose path has so many moves."""
    return max(2, int(np.ceil(SLACK * moves)))


def build_on(
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
        stated_bounds=_drift(cells, slips, law) if stated_bounds is None else np.asarray(stated_bounds),
        start_states=np.flatnonzero(np.isfinite(distances)),
        grid=cells.shape,
        models=ModelFamily.of_mixture(KernelFamily.of_one_slip(kernel_of(float(slips[0]))), "slip"),
    )


def _state(cells: CellMap, name: str, position: Position | None) -> int:
    if position is None:
        raise InputError(f"missing key {name!r}: x and y in metres")
    state = int(cells.states_at(position))
    if state < 0:
        raise InputError(f"{name} {list(position)} lies outside the map")
    if cells.blocked[state]:
        raise InputError(f"{name} {list(position)} lies in a blocked cell")
    return state


def _drift(cells: CellMap, slips: Array, law: ArrayLike | None) -> Array:
    """(T-1,) the true drift: kernels are linear in the slip, so one distance serves all steps."""
    never, always = (SlipKernel(cells.shape, slip, law=law, blocked=cells.blocked) for slip in (0.0, 1.0))
    return np.abs(np.diff(slips)) * float(never.entrywise_distance(always).max())


def _within_reach(distances: Array) -> Array:
    """(S,) the distances, with one more than the greatest where there is no way."""
    known = np.isfinite(distances)
    return np.where(known, distances, distances[known].max() + 1)
