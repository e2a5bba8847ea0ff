"""Obstacle layouts and winds of the paper's hardware experiment: 12 x 12 cells, one start and goal.

A cell is 0.30 m wide. Obstacles are upright poles in the middle of their cells. A layout always has a way
from start to goal along cell centres that stays out of every pole's safety radius.

    safety radius 0.17 m = pole 0.05 m + drone 0.07 m (centre to propeller tip) + margin 0.05 m

A drone in the middle of the cell beside a pole is 0.30 m from it, so 0.13 m are left for wind and control.

The wind's mean strength follows a drift profile of the simulation study (Piecewise-Three-Short, the one with
the hardware experiment's n/T/H/B = 12/60/7/6), its direction turns slowly. Gusts are an Ornstein-Uhlenbeck
process. A layout and trial fix the wind, whatever the method.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from replan import SlipKernel, piecewise, uniforms
from replan.errors import InputError
from replan.typing import Array, Indices
from replan.worlds.cell_map import CellMap

Density = Literal["none", "sparse", "dense"]
GridCell = tuple[int, int]

DENSITIES: tuple[Density, ...] = get_args(Density)
OBSTACLES: dict[Density, int] = {"none": 0, "sparse": 14, "dense": 29}  # poles: 0, 10 and 20 % of the cells

GRID = 12
CELL_SIZE = 0.30  # m
WALL = CELL_SIZE / 2  # m; the walls are felt, so a setpoint stays this far from them
HEIGHT = 0.5  # m, of flights
POLE_RADIUS = 0.05  # m
DRONE_RADIUS = 0.07  # m, cf2x: 46 mm arm and 23.5 mm propeller
SAFETY_MARGIN = 0.05  # m
CONTACT_DISTANCE = POLE_RADIUS + DRONE_RADIUS  # m between centres
SAFETY_RADIUS = CONTACT_DISTANCE + SAFETY_MARGIN  # m between centres

START: GridCell = (0, 0)
GOAL: GridCell = (GRID - 1, GRID - 1)

HORIZON = 60
THREE_SHORT = (
    (0.12, 0.22, 0.016),
    (0.46, 0.56, 0.020),
    (0.76, 0.88, 0.018),
)
MOVE_SECONDS = 2.0
FORCES_PER_MOVE = 20  # the force is held for 0.1 s

STRENGTH = 0.10  # N for a profile value of 1
TURN = np.deg2rad(2.0)  # greatest turn of the direction per move, either way
GUST_DEVIATION = 0.020  # N, standard deviation of each component
GUST_SECONDS = 1.0  # correlation time

_GUST_STREAM, _DIRECTION_STREAM = 1 << 40, 1 << 41


@dataclass(frozen=True)
class Layout:
    """Positions of the poles. Rows count down (y), columns right (x)."""

    density: Density
    number: int
    obstacles: tuple[GridCell, ...] = field(repr=False)

    def __post_init__(self) -> None:
        for i, j in self.obstacles:
            if not (0 <= i < GRID and 0 <= j < GRID):
                raise InputError(f"obstacle {(i, j)} lies outside the {GRID} x {GRID} grid")
        if not np.isfinite(self.distances[state_of(START)]):
            raise InputError(f"layout {self.number} ({self.density}) has no way from {START} to {GOAL}")

    @cached_property
    def blocked(self) -> np.ndarray:
        """(S,) bool, cells with a pole."""
        blocked = np.zeros(GRID * GRID, dtype=bool)
        blocked[[state_of(cell) for cell in self.obstacles]] = True
        return blocked

    @cached_property
    def distances(self) -> Array:
        """(S,) moves to the goal along free cells, infinite for cells without a way."""
        return moves_to(GOAL, self.blocked)

    @cached_property
    def poles(self) -> Array:
        """(K, 2) x and y of the poles in metres."""
        return centres([state_of(cell) for cell in self.obstacles])

    @property
    def reference_length(self) -> float:
        """L_ref in metres: the shortest collision-free way from start to goal."""
        return float(self.distances[state_of(START)]) * CELL_SIZE

    def pole_distance(self, positions: Array) -> Array:
        """(...,) metres from (..., 2) positions to the nearest pole's axis; infinite without poles."""
        if len(self.poles) == 0:
            return np.full(positions.shape[:-1], np.inf)
        return np.linalg.norm(positions[..., None, :] - self.poles, axis=-1).min(axis=-1)


def layout(density: Density, number: int) -> Layout:
    """Return one of the random layouts of a density; the same arguments give the same layout.

    Parameters
    ----------
    density : {"none", "sparse", "dense"}
        0, 14 or 29 poles on 12 x 12 cells.
    number : int
        Number of the layout, from 0 on.

    Returns
    -------
    Layout
        A layout with a way from start to goal.

    Raises
    ------
    InputError
        If the density is unknown or the number is negative.
    """
    if density not in OBSTACLES:
        raise InputError(f"density must be one of {', '.join(DENSITIES)}, not {density!r}")
    if number < 0:
        raise InputError(f"a layout's number must not be negative, not {number}")
    corners = np.isin(np.arange(GRID * GRID), [*beside(state_of(START)), *beside(state_of(GOAL))])
    for attempt in range(1_000):
        seed = (number * len(DENSITIES) + DENSITIES.index(density)) * 1_000 + attempt
        draws = np.where(corners, np.inf, uniforms(seed, np.arange(GRID * GRID), "world"))
        chosen = np.sort(np.argsort(draws)[: OBSTACLES[density]])
        blocked = np.zeros(GRID * GRID, dtype=bool)
        blocked[chosen] = True
        if np.isfinite(moves_to(GOAL, blocked)[state_of(START)]):
            return Layout(density, number, tuple((int(s) // GRID, int(s) % GRID) for s in chosen))
    raise InputError(f"no {density} layout with a way through was found for number {number}")


def state_of(cell: GridCell) -> int:
    """Return the state of a cell."""
    return cell[0] * GRID + cell[1]


def centres(states: ArrayLike, cuts: int = 1) -> Array:
    """Return (..., 2) x and y in metres of the middle of (...,) states, of cells cut `cuts` x `cuts`."""
    i, j = np.divmod(np.asarray(states, dtype=np.int64), GRID * cuts)
    return (np.stack([j, i], axis=-1) + 0.5) * (CELL_SIZE / cuts)


def cells_at(positions: ArrayLike, cuts: int = 1) -> Indices:
    """Return (...,) the states, of cells cut `cuts` x `cuts`, of (..., 2) positions.

    A position outside the grid counts as in the nearest cell.
    """
    side = GRID * cuts
    places = np.floor(np.asarray(positions, dtype=float) / (CELL_SIZE / cuts))
    column, row = np.moveaxis(np.clip(places, 0, side - 1), -1, 0)
    return (row * side + column).astype(np.int64)


def middles_at(positions: ArrayLike, cuts: int = 1) -> Indices:
    """Return (...,) the middle states, of cells cut `cuts` x `cuts`, of the cells of (..., 2) positions.

    A move after an update ends as if it had started there.
    """
    return cells_at(centres(cells_at(positions)), cuts)


def moves_to(goal: GridCell, blocked: np.ndarray) -> Array:
    """Return (S,) least numbers of moves to the goal over cells that are not blocked."""
    return CellMap(CELL_SIZE, (GRID, GRID), blocked).moves_to(state_of(goal))


def beside(state: int) -> list[int]:
    """Return the states of a cell and of those that share an edge with it."""
    cells = np.array(divmod(state, GRID)) + SlipKernel.moves
    return [state_of((int(i), int(j))) for i, j in cells if 0 <= i < GRID and 0 <= j < GRID]


@dataclass(frozen=True)
class Wind:
    """The force of the wind on one drone, x right and y down, in newtons."""

    mean: Array = field(repr=False)
    """(T, 2) mean force during each move, which the calibrated model uses."""
    force: Array = field(repr=False)
    """(T, FORCES_PER_MOVE, 2) mean force with gusts."""

    @property
    def horizon(self) -> int:
        """T."""
        return len(self.mean)


def make_wind(
    density: Density,
    number: int,
    *,
    trial: int = 0,
    strength: float = STRENGTH,
    gust: float = GUST_DEVIATION,
    horizon: int = HORIZON,
) -> Wind:
    """Return the wind over a layout; the same arguments give the same wind.

    Parameters
    ----------
    density, number
        The layout, as in `layout`.
    trial : int
        Number of the wind over this layout.
    strength : float
        Mean force in newtons for a drift profile of 1.
    gust : float
        Standard deviation of each component of the gusts, in newtons.
    horizon : int
        T, the number of moves.

    Returns
    -------
    Wind
        Mean force (T, 2) and force with gusts (T, 20, 2).
    """
    seed = (number * len(DENSITIES) + DENSITIES.index(density)) * 1_000 + trial
    profile = strength * piecewise(horizon, slip=0.03, quiet=0.001, bursts=THREE_SHORT)
    first, turn = uniforms(seed + _DIRECTION_STREAM, np.arange(2), "world")
    angle = 2 * np.pi * first + (2 * turn - 1) * TURN * np.arange(horizon)
    mean = profile[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    steps = horizon * FORCES_PER_MOVE
    gusts = ornstein_uhlenbeck(steps, deviation=gust, step=1 / FORCES_PER_MOVE * MOVE_SECONDS, seed=seed)
    return Wind(mean, mean[:, None, :] + gusts.reshape(horizon, FORCES_PER_MOVE, 2))


def constant_wind(mean: Array, *, horizon: int, gust: float = GUST_DEVIATION, seed: int = 0) -> Wind:
    """Return gusts around one mean (2,) at all times, for calibration."""
    steady = np.broadcast_to(np.asarray(mean, dtype=float), (horizon, 2))
    steps = horizon * FORCES_PER_MOVE
    gusts = ornstein_uhlenbeck(steps, deviation=gust, step=MOVE_SECONDS / FORCES_PER_MOVE, seed=seed)
    return Wind(steady, steady[:, None, :] + gusts.reshape(horizon, FORCES_PER_MOVE, 2))


def ornstein_uhlenbeck(steps: int, *, deviation: float, step: float, seed: int) -> Array:
    """Return (steps, 2) a stationary Ornstein-Uhlenbeck process in two components, exact at these times."""
    from scipy.special import ndtri

    keep = np.exp(-step / GUST_SECONDS)
    draws = uniforms(seed + _GUST_STREAM, np.arange(2 * steps), "world").reshape(steps, 2)
    shocks = ndtri(np.clip(draws, 1e-12, 1 - 1e-12)) * deviation
    out = np.empty((steps, 2))
    out[0] = shocks[0]
    for k in range(1, steps):
        out[k] = keep * out[k - 1] + np.sqrt(1 - keep**2) * shocks[k]
    return out
