"""A vehicle that is carried along by a vector field, in continuous space and on cells.

In one step it keeps a heading, or drifts, along the field as it changes (Runge-Kutta of the fourth order);
then noise is added, of what the field does not resolve. The kernel of a step splits the displacement from the
middle of a cell onto cells (`flow_grid`). The vehicle stops before land and before the edge of the cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import ceil

import numpy as np

from replan import FlowKernel
from replan.typing import Array, Indices
from replan.worlds.flow_grid import FlowGrid
from replan.worlds.vector_field import VectorField

FINEST = 64
"""Most parts of a step."""
PARTS_PER_POINT = 2.0
"""Parts of a step in which the vehicle passes from a point of the field to the next."""


@dataclass(frozen=True, eq=False)
class FieldCells:
    """Cells over a field, rows from north to south, columns from west to east."""

    grid: FlowGrid
    """Rows, columns and land."""
    north_west: tuple[float, float]
    """x and y of the middle of the first cell."""
    side: float
    """Side of a cell, in the field's degrees or metres."""

    @classmethod
    def over(
        cls, flow: VectorField, shape: tuple[int, int], north_west: tuple[float, float], side: float
    ) -> FieldCells:
        """Return the cells; those whose middle is nearest to a point of land are land."""
        everywhere = cls(FlowGrid(shape, np.zeros(shape[0] * shape[1], dtype=bool)), north_west, side)
        return cls(FlowGrid(shape, flow.on_land(everywhere.centres)), north_west, side)

    @cached_property
    def centres(self) -> Array:
        """(S, 2) x and y of the middle of each cell."""
        row, column = np.divmod(np.arange(self.grid.states), self.grid.shape[1])
        return np.stack(
            [self.north_west[0] + column * self.side, self.north_west[1] - row * self.side], axis=1
        )

    def to_cells(self, moves: Array) -> Array:
        """(..., 2) displacements in x and y as rows and columns."""
        return moves[..., ::-1] / np.array([-self.side, self.side])

    def find(self, positions: Array) -> Indices:
        """(N,) the cell of each position, -1 beyond the edge."""
        row, column = np.rint(self.to_cells(positions - np.array(self.north_west))).astype(int).T
        rows, columns = self.grid.shape
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        return np.where(inside, row * columns + column, -1)

    def allow(self, positions: Array) -> np.ndarray:
        """(N,) bool: whether each position is in a cell that is not land."""
        cells = self.find(positions)
        return (cells >= 0) & ~self.grid.land[cells]


@dataclass(frozen=True, eq=False)
class VehicleInField:
    """A vehicle that is carried along by a vector field."""

    flow: VectorField
    """The field."""
    cells: FieldCells
    """The cells."""
    sailing: Array = field(repr=False)
    """(A, 2) m/s through the water to the east and to the north, of each action."""
    start_time: float
    """Seconds since 1970 of t = 0."""
    step: float
    """Seconds of a step."""
    noise: float
    """Standard deviation in metres, along each axis, of what a step adds."""

    @cached_property
    def parts(self) -> int:
        """Number of Runge-Kutta steps in one step."""
        fastest = np.abs(self.flow.velocity).max() + np.abs(self.sailing).max()
        apart = self.flow.metres(self.flow.y).min(axis=0) * [
            np.diff(axis).min() for axis in (self.flow.x, self.flow.y)
        ]
        return int(np.clip(ceil(PARTS_PER_POINT * fastest * self.step / apart.min()), 1, FINEST))

    def kernel(self, t: int) -> FlowKernel:
        """Return the kernel of step t; before the mission t is negative."""
        return self.kernel_of(self.moves(t, np.arange(len(self.sailing))))

    def kernel_of(self, moves: Array) -> FlowKernel:
        """Return the kernel of (S, A, 2) displacements in rows and columns."""
        spread = self.noise / self.flow.metres(self.cells.centres[:, 1]) / self.cells.side
        return self.cells.grid.kernel(moves, spread[:, ::-1] ** 2)

    def moves(self, t: int, actions: Indices) -> Array:
        """(S, A, 2) rows and columns by which each of (A,) actions moves the vehicle in step t."""
        centres = self.cells.centres
        positions = np.repeat(centres, len(actions), axis=0)
        moved = self.carry(positions, np.tile(actions, len(centres)), t)
        return self.cells.to_cells((moved - positions).reshape(len(centres), len(actions), 2))

    def carry(self, positions: Array, actions: Indices, t: int, *, stops: bool = False) -> Array:
        """(N, 2) positions after step t without noise; with `stops` before land and the edge."""
        self.flow.require_times(self.start_time + t * self.step, self.start_time + (t + 1) * self.step)
        moved, free = positions.copy(), np.ones(len(positions), dtype=bool)
        length, own = self.step / self.parts, self.sailing[actions]
        for part in range(self.parts):
            time = self.start_time + t * self.step + part * length
            following = self._runge_kutta(moved, own, time, length)
            free &= self.cells.allow(following) if stops else True
            moved = np.where(free[:, None], following, moved)
        return moved

    def simulate(self, positions: Array, actions: Indices, t: int, noise: Array) -> Array:
        """(N, 2) positions after step t with (N, 2) standard normal numbers as noise, never on land."""
        moved = self.carry(positions, actions, t, stops=True)
        push = self.noise * noise / self.flow.metres(positions[:, 1])
        free = np.ones(len(positions), dtype=bool)
        pieces = max(1, ceil(2 * float(np.abs(push).max(initial=0.0)) / self.cells.side))
        for _ in range(pieces):
            following = moved + push / pieces
            free &= self.cells.allow(following)
            moved = np.where(free[:, None], following, moved)
        return moved

    def _runge_kutta(self, positions: Array, own: Array, time: float, length: float) -> Array:
        first = self._rate(positions, own, time)
        second = self._rate(positions + length / 2 * first, own, time + length / 2)
        third = self._rate(positions + length / 2 * second, own, time + length / 2)
        fourth = self._rate(positions + length * third, own, time + length)
        return positions + length / 6 * (first + 2 * second + 2 * third + fourth)

    def _rate(self, positions: Array, own: Array, time: float) -> Array:
        """(N, 2) units of x and y per second."""
        return (self.flow.at(positions, time) + own) / self.flow.metres(positions[:, 1])
