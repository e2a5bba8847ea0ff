"""Cells on which a vehicle is carried along: displacements split onto cells, headings, land and goal.

Types of the parameters of such worlds stand here too.

A displacement goes to the two cells around it along each axis, with probabilities 1 - f and f for the
fraction f. The mean is kept, and the variance grows by f (1 - f) cells squared along each axis. Noise is a
sum of small steps to neighbouring cells with mean zero and the variance given. A vehicle moves in a straight
line and stops before the first cell that is land or beyond the edge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from math import ceil
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field, field_validator

from replan import FlowKernel, Parameters
from replan.errors import InputError
from replan.typing import Array, Indices


def _not_minute(value: float) -> float:
    if value < LEAST:
        raise ValueError(f"should be at least {LEAST:g}")
    return value


LEAST, MOST = 1e-9, 1e12
"""Of metres, seconds and metres a second: beyond, squares and ratios are no numbers any more."""
Positive = Annotated[float, Field(gt=0, le=MOST, strict=False), AfterValidator(_not_minute)]
NotNegative = Annotated[float, Field(ge=0, le=MOST, strict=False)]
Pair = Annotated[tuple[int, ...], Field(min_length=2, max_length=2, strict=False)]
Position = Annotated[tuple[float, ...], Field(min_length=2, max_length=2, strict=False)]
Headings = Annotated[int, Field(ge=1, le=360)]
Horizon = Annotated[int, Field(ge=2, le=1_000_000)]
Side = Annotated[int, Field(ge=2, le=10_000)]
SMALL_STEP = 0.5
"""Largest variance of a step of the noise, in cells squared: cells stay the likeliest place to be."""
FARTHEST = 50
"""Cells that a vehicle may move in one step."""


def heading_velocities(headings: int, speed: float) -> Array:
    """(A, 2) velocity to the east and to the north of each action.

    Action k of the first `headings` goes k * 360 / headings degrees clockwise from north; the last drifts.
    """
    angles = 2 * np.pi * np.arange(headings) / headings
    sailing = speed * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    return np.concatenate([sailing, np.zeros((1, 2))])


class DatedParameters(Parameters):
    """Parameters with the date at which a mission begins."""

    start_time: str
    """Date and time of t = 0, ISO 8601, UTC."""

    @field_validator("start_time", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        return value.isoformat() if isinstance(value, date) else value


@dataclass(frozen=True, eq=False)
class FlowGrid:
    """Rows of cells from north to south, columns from west to east, and the land among them."""

    shape: tuple[int, int]
    """Rows and columns."""
    land: np.ndarray = field(repr=False)
    """(S,) bool: cells that are never entered."""

    @cached_property
    def states(self) -> int:
        """Number of cells."""
        return self.shape[0] * self.shape[1]

    def cell(self, place: tuple[int, ...], name: str) -> int:
        """Return the state of a row and column. Raises `InputError` if it is outside or land."""
        row, column = place
        if not (0 <= row < self.shape[0] and 0 <= column < self.shape[1]):
            raise InputError(
                f"{name} {[row, column]} is not a cell of the {self.shape[0]} x {self.shape[1]} grid"
            )
        if self.land[row * self.shape[1] + column]:
            raise InputError(f"{name} {[row, column]} is land")
        return row * self.shape[1] + column

    def kernel(self, moves: Array, variance: Array) -> FlowKernel:
        """Return the kernel of displacements with noise; drifting is the last action.

        `moves` are (S, A, 2) or (1, A, 2) rows and columns, `variance` (S, 2) or (1, 2) cells squared.
        """
        sums = ceil(variance.max() / SMALL_STEP)
        radius = ceil(np.abs(moves).max()) + sums
        if radius > FARTHEST:
            raise InputError(
                f"a step moves the vehicle by {radius} cells: larger cells or shorter steps, please"
            )
        across, along = (_split(moves[..., i], variance[:, i], radius, sums) for i in range(2))
        joint = across[:, :, :, None] * along[:, :, None, :]
        probabilities = np.empty((self.states, moves.shape[1], joint[0, 0].size))
        probabilities[:] = joint.reshape(*joint.shape[:2], -1)
        probabilities[self.land] = 0.0
        probabilities[self.land, :, joint[0, 0].size // 2] = 1.0
        return FlowKernel(*_used(self._destinations(radius), probabilities), self.land, moves)

    @cached_property
    def _known_destinations(self) -> dict[int, Indices]:
        return {}

    def _destinations(self, radius: int) -> Indices:
        """(S, W) the cell where a straight way to each cell of the window around a state ends."""
        if radius not in self._known_destinations:
            self._known_destinations[radius] = self._ends_of_ways(radius)
        return self._known_destinations[radius]

    def _ends_of_ways(self, radius: int) -> Indices:
        side = np.arange(-radius, radius + 1)
        offsets = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
        here = np.stack(np.divmod(np.arange(self.states), self.shape[1]), axis=1)[:, None, :]
        reached = np.repeat(np.arange(self.states)[:, None], len(offsets), axis=1)
        free = np.ones(reached.shape, dtype=bool)
        for k in range(1, radius + 1):
            way = here + np.rint(offsets * min(k / radius, 1.0)).astype(int)
            inside = ((way >= 0) & (way < self.shape)).all(axis=2)
            states = np.where(inside, way[..., 0] * self.shape[1] + way[..., 1], 0)
            free &= inside & ~self.land[states]
            reached = np.where(free, states, reached)
        return reached


def goal_distance(grid: tuple[int, int], goal: int) -> Array:
    """(S,) straight distance of each cell from the goal, in cells."""
    row, column = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
    return np.hypot(row - goal // grid[1], column - goal % grid[1])


def _split(moves: Array, variance: Array, radius: int, sums: int) -> Array:
    """(S, A, 2 radius + 1) probability of each offset along one axis; the noise is a sum of `sums` steps."""
    shares = np.maximum(1 - np.abs(moves[..., None] - np.arange(-radius, radius + 1)), 0.0)
    step = variance[:, None, None] / max(sums, 1)
    for _ in range(sums):
        sides = np.zeros(np.broadcast_shapes(shares.shape, step.shape))
        sides[..., 1:] += shares[..., :-1]
        sides[..., :-1] += shares[..., 1:]
        shares = (1 - step) * shares + step / 2 * sides
    return shares


def _used(successors: Indices, probabilities: Array) -> tuple[Indices, Array]:
    """Drop the successors that no action leads to; rows keep as many as the one that needs most."""
    used = (probabilities > 0).any(axis=1)
    kept = np.argsort(~used, axis=1, kind="stable")[:, : used.sum(axis=1).max()]
    return np.take_along_axis(successors, kept, axis=1), np.take_along_axis(
        probabilities, kept[:, None, :], axis=2
    )
