"""The grid model of a flight, on which the planner works, and the calibration behind it.

A move leads to the commanded cell plus what the wind adds, one cell at most along each axis, with the
calibrated frequencies of the mean wind at that time. Walls clip a move; poles do not, but cost.

Cells can be cut 3 x 3: a move then leads three sub-cells on, and the position within a cell, which carries
over from move to move, is part of the state.

Slip as a function of wind is identified from simulated flights (`calibrate`) and not assumed. The table of
frequencies by force is all that the grid model knows of the physics.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from replan import ACTIONS, GeneralKernel, Mission, Reward, Robot, SlipKernel, Spending, World, constant
from replan.errors import InputError
from replan.robots.crazyflie.layouts import (
    CELL_SIZE,
    GRID,
    SAFETY_RADIUS,
    START,
    Layout,
    Wind,
    beside,
    cells_at,
    centres,
    state_of,
)
from replan.typing import Array, Execution, Indices
from replan.worlds.map_world import DISTANCE_SCALE

TABLES = {1: "calibration.csv", 3: "calibration_subcells.csv"}  # beside this file, by cuts of a cell
BUDGET = 6
PLANNING_HORIZON = 7
COLLISION_COST = 1.0  # what the planner pays to enter a pole's cell, in units of the reward
FEW = 4  # kernels of sub-cells kept at a time; each takes megabytes
SAMPLES = 5  # points along each side of a sub-cell, to measure its share of a safety radius


@dataclass(frozen=True)
class Calibration:
    """Frequencies of the cells that wind adds to a move, by its mean force."""

    force: Array
    """(K,) mean force of the wind in newtons, ascending from 0."""
    frequency: Array
    """(K, 2 R + 1) frequency of moves that end -R, ..., R cells further along the wind."""
    moves: Array
    """(K,) number of moves behind each frequency."""

    def __post_init__(self) -> None:
        if self.force[0] != 0 or (np.diff(self.force) <= 0).any():
            raise InputError("a calibration's forces must ascend from 0")
        rows = self.frequency
        if rows.shape[1] % 2 == 0 or (rows < 0).any() or np.abs(rows.sum(axis=1) - 1).max() > 1e-4:
            raise InputError("a calibration's rows must be frequencies of -R, ..., R cells")

    @property
    def reach(self) -> int:
        """R, the most cells that wind adds to a move."""
        return self.frequency.shape[1] // 2

    def drift(self, component: float) -> Array:
        """Return (2 R + 1,) probabilities of -R..R cells along an axis in a wind of `component` newtons."""
        size = abs(component)
        if size > self.force[-1]:
            raise InputError(
                f"a wind of {size:.3f} N is beyond the calibration, which ends at {self.force[-1]:g} N"
            )
        law = np.array([np.interp(size, self.force, column) for column in self.frequency.T])
        law[self.reach] += 1 - law.sum()  # a table has six digits
        return law if component >= 0 else law[::-1]

    def write(self, path: str | Path) -> None:
        """Write the table as a CSV file."""
        with Path(path).open("w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["force", *range(-self.reach, self.reach + 1), "moves"])
            for force, frequency, moves in zip(self.force, self.frequency, self.moves, strict=True):
                rows.writerow([f"{force:g}", *(f"{share:.6f}" for share in frequency), int(moves)])


def read_calibration(path: str | Path) -> Calibration:
    """Read a table that `Calibration.write` wrote."""
    return _parse_calibration(Path(path).read_text().splitlines(), str(path))


@cache
def load_calibration(cuts: int = 1) -> Calibration:
    """Return the table that comes with the package, of whole cells or of cells cut 3 x 3."""
    if cuts not in TABLES:
        raise InputError(
            f"calibration tables are of cells cut {' or '.join(map(str, TABLES))} times, not {cuts}"
        )
    lines = resources.files("replan.robots.crazyflie").joinpath(TABLES[cuts]).read_text().splitlines()
    return _parse_calibration(lines, TABLES[cuts])


def _parse_calibration(lines: Sequence[str], name: str) -> Calibration:
    try:
        header, *rows = [row for row in csv.reader(lines) if row]
        if (header[0], header[-1]) != ("force", "moves"):
            raise ValueError("its columns are not force, ..., moves")
        force, *frequency, moves = np.array(rows, dtype=float).T
    except (IndexError, ValueError) as error:
        raise InputError(f"{name}: not a calibration table ({error})") from None
    return Calibration(force, np.stack(frequency, axis=1), moves)


def crazyflie_world(
    layout: Layout,
    wind: Wind,
    *,
    cuts: int = 1,
    table: Calibration | None = None,
    collision_cost: float = COLLISION_COST,
) -> World:
    """Return the time-varying decision process of one layout in its wind.

    Parameters
    ----------
    layout : Layout
        The poles; entering the cell of a pole costs `collision_cost`.
    wind : Wind
        Its mean force decides how moves slip.
    cuts : {1, 3}
        States are whole cells, or cells cut 3 x 3.
    table : Calibration, optional
        Slip as a function of wind; by default the table that comes with the package.
    collision_cost : float
        Cost of a collision in units of reward.

    Returns
    -------
    World
        With 144 states, or 1296 for `cuts=3`, and the actions right, left, down, up, stay.

    Raises
    ------
    InputError
        If `cuts` is neither 1 nor 3, or the wind is stronger than the calibration.
    """
    table = table or load_calibration(cuts)
    side = GRID * cuts
    successors, merging = _merged(table.reach, cuts)

    @lru_cache(maxsize=wind.horizon if cuts == 1 else FEW)
    def kernel(t: int) -> GeneralKernel:
        merged = merging @ displacement_law(table, wind.mean[t], cuts).T
        by_action = merged.reshape(*successors.shape, -1).swapaxes(1, 2)
        return GeneralKernel.of_merged(successors, np.ascontiguousarray(by_action))

    cell = cells_at(centres(np.arange(side * side), cuts))  # of each state
    reward = (
        next_cell_reward(layout, collision_cost)
        if cuts == 1
        else subcell_reward(layout, cuts, collision_cost)
    )
    return World(
        horizon=wind.horizon,
        kernel=kernel,
        reward=constant(Reward(next_state=reward)),
        start=int(cells_at(centres(state_of(START)), cuts)),
        start_states=np.flatnonzero(~layout.blocked[cell]),
        grid=(side, side),
        declared_successors=successors,
        waiting=ACTIONS.index("stay"),
    )


def crazyflie_mission(
    layout: Layout,
    wind: Wind,
    *,
    execution: Execution = "map",
    budget: int = BUDGET,
    cuts: int = 1,
    table: Calibration | None = None,
    collision_cost: float = COLLISION_COST,
) -> Mission:
    """Return the paper's mission, n/T/H/B = 12/60/7/6, on one layout and wind."""
    world = crazyflie_world(layout, wind, cuts=cuts, table=table, collision_cost=collision_cost)
    robot = Robot(planning_horizon=PLANNING_HORIZON, execution=execution)
    return Mission(world, robot, Spending.exactly(budget))


def shifts(reach: int, cuts: int = 1) -> Indices:
    """Return (k, 2) rows and columns that one move may lead through if wind adds up to `reach` of each."""
    return np.argwhere(_reached(reach, cuts)) - (cuts + reach)


def displacement_law(table: Calibration, mean: Array, cuts: int = 1) -> Array:
    """Return (A, k) probabilities of each shift under a mean wind (2,) in newtons."""
    by_column, by_row = table.drift(float(mean[0])), table.drift(float(mean[1]))
    return _around_moves(np.outer(by_row, by_column), cuts)[:, _reached(table.reach, cuts)]


def _around_moves(law: Array, cuts: int) -> Array:
    """Return (A, n, n) a square law of shifts, moved to where each action of `cuts` cells leads."""
    width = len(law)
    moved = np.zeros((len(SlipKernel.moves), width + 2 * cuts, width + 2 * cuts))
    for a, (i, j) in enumerate(cuts * (SlipKernel.moves + 1)):
        moved[a, i : i + width, j : j + width] = law
    return moved


def _reached(reach: int, cuts: int) -> np.ndarray:
    """Return (n, n) bool, the shifts that some action may lead through."""
    return _around_moves(np.ones((2 * reach + 1, 2 * reach + 1)), cuts).max(axis=0) > 0


def next_cell_reward(layout: Layout, collision_cost: float = COLLISION_COST) -> Array:
    """Return (S,) -(moves to the goal)/20, less the cost of a collision where a pole stands."""
    distances = layout.distances.copy()
    for s in np.flatnonzero(np.isinf(distances)):  # poles, and cells that poles shut in
        nearest = layout.distances[beside(int(s))].min()
        distances[s] = nearest + 1 if np.isfinite(nearest) else 2 * GRID
    return -distances / DISTANCE_SCALE - collision_cost * layout.blocked


def subcell_reward(layout: Layout, cuts: int, collision_cost: float = COLLISION_COST) -> Array:
    """Return (S,) the reward of sub-cells: the distance of their cell, and their share of a safety radius."""
    middles = centres(np.arange((GRID * cuts) ** 2), cuts)
    distance = next_cell_reward(layout, 0.0)
    steps = (np.arange(SAMPLES) + 0.5) / SAMPLES - 0.5
    offsets = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2) * (CELL_SIZE / cuts)
    inside = layout.pole_distance(middles[:, None] + offsets) < SAFETY_RADIUS
    return distance[cells_at(middles)] - collision_cost * inside.mean(axis=1)


@cache
def _merged(reach: int, cuts: int) -> tuple[Indices, Any]:
    """Return (S, w) distinct successors and a sparse matrix (S w, k) from a law of shifts to their share."""
    from scipy.sparse import csr_array

    by_shift = shifts(reach, cuts)
    successors = _successors(by_shift, GRID * cuts)
    each = np.broadcast_to(np.eye(len(by_shift)), (len(successors), len(by_shift), len(by_shift)))
    merged = GeneralKernel(successors, each)
    shares = merged.probabilities.swapaxes(1, 2).reshape(-1, len(by_shift))
    return merged.successors, csr_array(shares)


def _successors(shifts: Indices, side: int) -> Indices:
    """Return (S, k) the cell that each shift leads to, clipped at the walls."""
    i, j = np.divmod(np.arange(side * side), side)
    to_i = np.clip(i[:, None] + shifts[:, 0], 0, side - 1)
    to_j = np.clip(j[:, None] + shifts[:, 1], 0, side - 1)
    return to_i * side + to_j
