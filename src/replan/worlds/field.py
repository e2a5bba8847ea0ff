"""Field: a vehicle in currents or winds that change over place and time, from NetCDF or Zarr files.

Points of the field without a value are land. Between its points and its times the field is interpolated.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from replan import Reward, SimulatedWorld, WorldParameters, constant, register_world
from replan.errors import InputError
from replan.model.sizes import require_memory
from replan.typing import Array
from replan.worlds.field_file import matching, read_field, to_field
from replan.worlds.field_past import RecordedDrift
from replan.worlds.flow_grid import (
    DatedParameters,
    Headings,
    Horizon,
    NotNegative,
    Pair,
    Position,
    Positive,
    Side,
    heading_velocities,
)
from replan.worlds.vector_field import VectorField
from replan.worlds.vehicle_in_field import FieldCells, VehicleInField
from replan.worlds.wind_table import parse_time

WINDOW = 25
"""Successors of a state and action that memory is reckoned with."""
NUMBERS_KEPT = 20_000_000
"""Kernels are kept between calls up to this many probabilities."""


@register_world("field")
class MeasuredField(DatedParameters, WorldParameters):
    """A vehicle with a speed of its own in currents or winds from a NetCDF or Zarr file.

    Actions are the headings, clockwise from north, and drifting. Every step costs the distance to the goal.
    """

    file: str | None = None
    """NetCDF file or Zarr store, a folder of them, or a pattern such as `currents/2002*.nc`."""
    east: str | None = None
    """Variable of the velocity to the east; left out, the one whose standard name begins with eastward."""
    north: str | None = None
    """Variable of the velocity to the north; left out, the one whose standard name begins with northward."""
    level: int = 0
    """Index along a further axis of the variables, such as depth."""
    north_west: Position | None = None
    """Latitude and longitude in degrees, or y and x in metres, of the middle of the first cell; left out, of
    the first point of the field."""
    rows: Side | None = None
    """Rows of cells, from north to south; left out, as far as the field goes."""
    columns: Side | None = None
    """Columns of cells, from west to east; left out, as far as the field goes."""
    cell: Positive | None = None
    """Side of a cell in degrees or metres; left out, the distance of the field's points along y."""
    step: Positive = 43_200.0
    """Seconds of a step."""
    speed: Positive = 0.4
    """Speed of the vehicle through the water or air in m/s."""
    headings: Headings = 8
    """Directions that it can head for; drifting comes on top."""
    noise: NotNegative = 9_000.0
    """Standard deviation in metres, along each axis, of what a step adds and the field does not resolve."""
    start: Pair
    """Row and column of the start."""
    goal: Pair
    """Row and column of the goal."""
    reward_distance: Positive = 1_000_000.0
    """Metres from the goal that cost 1 in each step."""
    horizon: Horizon = 30
    """Steps, T."""

    def matching(self, path: Path) -> list[Path]:
        """Return the files, folders and stores of a path or pattern."""
        return matching(path)

    def build(self) -> SimulatedWorld:
        """Return the world of the file."""
        if self.file is None:
            raise InputError("missing key 'file': a NetCDF file, a Zarr store, a folder or a pattern")
        return self.world_in(read_field(self.file, east=self.east, north=self.north, level=self.level))

    def vehicle(self, flow: VectorField) -> VehicleInField:
        """Return the vehicle in a field, and its cells."""
        begin = parse_time(self.start_time, "start_time")
        flow.require_times(begin, begin + self.horizon * self.step)
        return VehicleInField(
            *_cut(self, flow), heading_velocities(self.headings, self.speed), begin, self.step, self.noise
        )

    def world_in(self, flow: VectorField) -> SimulatedWorld:
        """Return the world in a field. Its kernels of negative times are those before the mission."""
        vehicle = self.vehicle(flow)
        cells, grid = vehicle.cells, vehicle.cells.grid
        start, goal = grid.cell(self.start, "start"), grid.cell(self.goal, "goal")
        size = grid.states * len(vehicle.sailing) * WINDOW
        require_memory(2 * size, f"the kernels of {grid.states} cells")

        def reward(positions: Array) -> Array:
            return -vehicle.flow.distances(positions, cells.centres[goal]) / self.reward_distance

        return SimulatedWorld.of(
            vehicle.simulate,
            centres=cells.centres,
            sides=np.full(2, cells.side),
            find=cells.find,
            position_reward=reward,
            numbers=2,
            horizon=self.horizon,
            kernel=lru_cache(maxsize=max(2, NUMBERS_KEPT // size))(vehicle.kernel),
            reward=constant(Reward(next_state=reward(cells.centres))),
            start=start,
            start_states=np.flatnonzero(~grid.land),
            grid=grid.shape,
            past=RecordedDrift.of(vehicle),
        )


def field_world(dataset: Any, **parameters: Any) -> SimulatedWorld:
    """Return the world of a vehicle in a field of currents or winds.

    Parameters
    ----------
    dataset : xarray.Dataset, str or Path
        The field, in memory or as a file, folder or pattern of NetCDF files or Zarr stores.
    **parameters
        Those of `world = "field"`: start_time, start and goal; where they differ from their defaults also
        north_west, rows, columns, cell, step, speed, headings, noise, horizon and others
        (`replan list worlds`).

    Returns
    -------
    SimulatedWorld
        The world on cells, with the continuous simulator behind it. Its kernels of negative times are those
        before the mission.

    Raises
    ------
    InputError
        If the field cannot be read, does not cover cells and times, or a parameter is wrong.
    """
    if isinstance(dataset, (str, Path)):
        return MeasuredField(file=str(dataset), **parameters).build()
    wanted = MeasuredField(**parameters)
    return wanted.world_in(to_field(dataset, east=wanted.east, north=wanted.north, level=wanted.level))


def _cut(wanted: MeasuredField, flow: VectorField) -> tuple[VectorField, FieldCells]:
    """Return the field around the cells, and the cells."""
    side = wanted.cell or float(np.median(np.diff(flow.y)))
    y, x = wanted.north_west or (float(flow.y[-1]), float(flow.x[0]))
    if wanted.columns is not None:
        flow = flow.around(x + side * (wanted.columns - 1) / 2)
    elif flow.degrees:
        x += 360 * round((float(flow.x.mean()) - x) / 360)
    rows = wanted.rows or round((y - float(flow.y[0])) / side) + 1
    columns = wanted.columns or round((float(flow.x[-1]) - x) / side) + 1
    south, east = y - side * (rows - 1), x + side * (columns - 1)
    slack = 0.51 * side  # the field goes on for half a cell; coordinates are often rounded
    inside = (
        flow.y[0] - slack < south < y < flow.y[-1] + slack
        and flow.x[0] - slack < x < east < flow.x[-1] + slack
    )
    if not inside:
        raise InputError(
            f"{flow.name}: the field covers {flow.y[0]:g} to {flow.y[-1]:g} north and {flow.x[0]:g} to "
            f"{flow.x[-1]:g} east, not cells from {south:g} to {y:g} north and from {x:g} to {east:g} east"
        )
    return flow, FieldCells.over(flow, (rows, columns), (x, y), side)
