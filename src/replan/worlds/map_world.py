"""An occupancy map as a world: a robot drives from start to goal over slippery cells.

One step is the time that the robot takes for one cell at its speed. With the objective `distance` the reward
is -(moves to the goal) / 20 for the realised next cell, moves being counted along free cells, so that walls
do not hold up a short-sighted plan. With `time` it is -1 for every step that begins off the goal, plus the
moves to the goal that the step saves: returns then differ only by the time to the goal, and a short-sighted
plan counts the moves that are left at its end.

Slip drifts on all of the floor and in patches, and cells get blocked in closures. Moves to the goal are those
on the map without closures, so that the reward does not tell what will close.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from replan import (
    Family,
    Parameters,
    Reward,
    SlipDrift,
    SlipKernel,
    World,
    WorldParameters,
    constant,
    register_world,
)
from replan.errors import InputError
from replan.typing import Array, Indices
from replan.worlds.cell_map import CellMap
from replan.worlds.map_file import OccupancyMap, read_map

Metres = Annotated[float, Field(gt=0)]
Corners = Annotated[tuple[float, ...], Field(min_length=4, max_length=4, strict=False)]
Objective = Literal["distance", "time"]

Fraction = Annotated[float, Field(ge=0, le=1)]
Whole = Annotated[int, Field(ge=1)]
Horizon = Annotated[int, Field(ge=2, le=1_000_000)]
Position = Annotated[tuple[float, ...], Field(min_length=2, max_length=2, strict=False)]

DISTANCE_SCALE = 20.0  # moves that cost 1, as for the rover
NUMBERS_KEPT = 1_000_000  # kernels over time are kept between calls where all of them hold fewer
SLACK = 1.5  # steps of a mission for each step of the path, if no horizon is given


class FloorArea(Parameters):
    """A rectangle on the floor."""

    corners: Corners
    """x and y of two opposite corners, in metres."""

    def covers(self, cells: CellMap) -> np.ndarray:
        """(S,) whether the centre of each cell lies in the rectangle."""
        x, y = cells.positions_of(np.arange(cells.states)).T
        (left, right), (low, high) = sorted(self.corners[::2]), sorted(self.corners[1::2])
        return (left <= x) & (x <= right) & (low <= y) & (y <= high)


class FloorPatch(FloorArea):
    """A part of the floor with a slip of its own."""

    slip: Fraction
    """Slip up to the time `begin`."""
    final_slip: Fraction | None = None
    """Slip from the time `end` on; without it the patch does not drift."""
    begin: int = 0
    """Time from which the slip changes."""
    end: int = 1
    """Time at which it has changed."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.begin >= self.end:
            raise ValueError(f"a patch must end its drift after it begins, not {self.begin} to {self.end}")
        return self

    def slip_at(self, t: int) -> float:
        """Return the slip at time t."""
        if self.final_slip is None:
            return self.slip
        passed = np.clip((t - self.begin) / (self.end - self.begin), 0, 1)
        return float(self.slip + (self.final_slip - self.slip) * passed)


class Closure(FloorArea):
    """A part of the floor that gets blocked and stays so. A robot on it may leave."""

    begin: Whole
    """Time from which its cells cannot be entered."""


@register_world("map")
class Map(WorldParameters):
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
    drift: SlipDrift
    """Slip over time."""
    objective: Objective = "distance"
    """Quantity that the reward counts: `distance` from the goal (the rover's), or `time` to it in steps."""
    patches: list[FloorPatch] = Field(default=[])
    """Parts of the floor with a slip of their own, later ones over earlier ones."""
    closures: list[Closure] = Field(default=[])
    """Parts of the floor that get blocked."""
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

    def build(self) -> World:
        """Return the world from `start` to `goal`."""
        cells = self.cells()
        for name, areas in (("patches", self.patches), ("closures", self.closures)):
            for number, area in enumerate(areas):
                if not area.covers(cells).any():
                    raise InputError(
                        f"'{name}.{number}.corners' {list(area.corners)} contain the centre of no cell"
                    )
        return self.world_on(
            cells, start=_state(cells, "start", self.start), goal=_state(cells, "goal", self.goal)
        )

    def notes(self) -> list[str]:
        """Return one line if cells are smaller than the pixels of the map."""
        pixel = 0.0 if self.file is None else read_map(self.file).resolution
        if self.cell >= pixel:
            return []
        return [
            f"cells of {self.cell:g} m are smaller than the map's pixels of {pixel:g} m: more states, but no "
            "more detail"
        ]

    def world_on(self, cells: CellMap, *, start: int, goal: int, moves: float | None = None) -> World:
        """Return the world on these cells; `moves` of the path set the horizon if none is given."""
        moves = float(cells.moves_to(goal)[start]) if moves is None else moves
        horizon = self.horizon or steps_for(moves if np.isfinite(moves) else 1)
        bounds = None if self.drift_bound is None else np.full(horizon - 1, self.drift_bound)
        slip = self.drift.profile(horizon)
        return cell_world(
            cells,
            slip,
            start=start,
            goal=goal,
            objective=self.objective,
            patches=self.patches,
            closures=self.closures,
            stated_bounds=bounds,
        )


def steps_for(moves: float) -> int:
    """Return the horizon of a mission from the moves of its path."""
    return max(2, int(np.ceil(SLACK * moves)))


def cell_world(
    cells: CellMap,
    slip: ArrayLike,
    *,
    start: int,
    goal: int,
    objective: Objective = "distance",
    patches: Sequence[FloorPatch] = (),
    closures: Sequence[Closure] = (),
    stated_bounds: ArrayLike | None = None,
) -> World:
    """Return the world of a robot that drives over the cells of a map.

    Parameters
    ----------
    cells : CellMap
        The cells; those that it has as blocked are blocked at all times.
    slip : array of shape (T,)
        Slip of the floor at each time.
    start, goal : int
        Their cells.
    objective : {"distance", "time"}
        Quantity that the reward counts: moves that are left to the goal, or steps to it.
    patches : sequence of FloorPatch
        Parts of the floor with a slip of their own.
    closures : sequence of Closure
        Parts of the floor that get blocked.
    stated_bounds : array of shape (T-1,), optional
        Drift bounds that rules are given in place of the true drift.

    Returns
    -------
    World
        The world of T steps.

    Raises
    ------
    InputError
        If the map has no way from the start to the goal.
    """
    slips = np.asarray(slip, dtype=float)
    distances = cells.moves_to(goal)
    if not np.isfinite(distances[start]):
        raise InputError("the map has no way from the start to the goal; smaller cells may open one")
    times = range(len(slips))
    values = np.column_stack([slips, *([patch.slip_at(t) for t in times] for patch in patches)])
    ground = _ground(cells, patches)
    covered = np.array([closure.covers(cells) for closure in closures]).reshape(-1, cells.states)

    @lru_cache(maxsize=len(slips) if cells.states * len(slips) <= NUMBERS_KEPT else 2)
    def kernel_of(slips: tuple[float, ...], closed: tuple[bool, ...]) -> SlipKernel:
        blocked = cells.blocked | covered[list(closed)].any(axis=0)
        return SlipKernel(cells.shape, np.array(slips)[ground], blocked=blocked)

    def kernel(t: int) -> SlipKernel:
        return kernel_of(tuple(values[t].tolist()), tuple(closure.begin <= t for closure in closures))

    if stated_bounds is None and not closures:
        stated_bounds = _drift(cells, values, ground)

    return World(
        horizon=len(slips),
        kernel=kernel,
        reward=constant(_reward(objective, _within_reach(distances))),
        start=start,
        stated_bounds=None if stated_bounds is None else np.asarray(stated_bounds),
        start_states=np.flatnonzero(np.isfinite(distances)),
        grid=cells.shape,
        family=None if patches or closures else replace(Family.of_one_slip(kernel(0)), exact=False),
    )


def _state(cells: CellMap, name: str, position: Position | None) -> int:
    if position is None:
        raise InputError(f"missing key {name!r}: x and y in metres")
    state = int(cells.states_at(position))
    if state < 0:
        raise InputError(f"{name} {list(position)} lies outside the map")
    if cells.blocked[state]:
        raise InputError(
            f"{name} {list(position)} lies in a blocked cell of {cells.cell:g} m; smaller cells or less "
            "inflation may free it"
        )
    return state


def _ground(cells: CellMap, patches: Sequence[FloorPatch]) -> Indices:
    """(S,) 0 on plain floor, 1 on the first patch and so on; (1,) without patches."""
    if not patches:
        return np.zeros(1, dtype=np.int64)
    ground = np.zeros(cells.states, dtype=np.int64)
    for number, patch in enumerate(patches, 1):
        ground[patch.covers(cells)] = number
    return ground


def _drift(cells: CellMap, values: Array, ground: Indices) -> Array:
    """(T-1,) the true drift for (T, n) slips of n kinds of ground: kernels are linear in the slip."""
    never, always = (SlipKernel(cells.shape, slip, blocked=cells.blocked) for slip in (0.0, 1.0))
    distance = never.entrywise_distance(always).max(axis=1)
    greatest = np.zeros(values.shape[1])
    np.maximum.at(greatest, np.broadcast_to(ground, distance.shape), distance)
    return (np.abs(np.diff(values, axis=0)) * greatest).max(axis=1)


def _reward(objective: Objective, distances: Array) -> Reward:
    if objective == "distance":
        return Reward(next_state=-distances / DISTANCE_SCALE)
    kept = distances - (distances > 0)
    return Reward(np.repeat(kept[:, None], SlipKernel.actions, axis=1), -distances)


def _within_reach(distances: Array) -> Array:
    """(S,) the distances, with one more than the greatest for cells without a way."""
    known = np.isfinite(distances)
    return np.where(known, distances, distances[known].max() + 1)
