"""Slip as a function of wind, identified from simulated flights and not assumed.

Drones set out from anywhere in a cell on short blind stretches in steady wind with gusts. After each move the
cells that a drone has come further than commanded are counted, along the wind and against it. The table of
both frequencies by force is all that the grid model knows of the physics.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array
from replan.model.slip import MOVES
from replan.model.streams import WORLD, uniforms
from replan.robots.crazyflie.layouts import CELL_SIZE, GRID, centres, state_of
from replan.robots.crazyflie.wind import GUST_DEVIATION, constant_wind

TABLES = {1: "calibration.csv", 3: "calibration_subcells.csv"}  # beside this file, by cuts of a cell
REACHES = {1: 1, 3: 2}  # the most cells that wind adds to a move
FORCES = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06)  # N
DRONES = 32  # for each force
STRETCH = (0, 2, 1, 3, 4, 0, 3, 1, 2, 4)  # blind moves; together they lead back
MIDDLE = state_of((GRID // 2, GRID // 2 - 3))  # room downwind, which is to the right


@dataclass(frozen=True)
class Calibration:
    """Frequencies with which a move in wind of a given mean force ends so many cells further along it."""

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
    return _parse(Path(path).read_text().splitlines(), str(path))


@cache
def load_calibration(cuts: int = 1) -> Calibration:
    """Return the table that comes with the package, of whole cells or of cells cut 3 x 3."""
    if cuts not in TABLES:
        raise InputError(
            f"calibration tables are of cells cut {' or '.join(map(str, TABLES))} times, not {cuts}"
        )
    lines = resources.files("replan.robots.crazyflie").joinpath(TABLES[cuts]).read_text().splitlines()
    return _parse(lines, TABLES[cuts])


def calibrate(
    *,
    forces: Sequence[float] = FORCES,
    drones: int = DRONES,
    stretches: int = 3,
    cuts: int = 1,
    gust: float = GUST_DEVIATION,
) -> Calibration:
    """Fly in the simulator and count how far each move leads, in cells cut `cuts` x `cuts`."""
    from replan.robots.crazyflie.crazyflow_flight import CrazyflowFlight
    from replan.robots.crazyflie.physics import Physics

    physics = Physics(len(forces) * drones)
    reach = REACHES[cuts]
    counts = np.zeros((len(forces), 2 * reach + 1))
    for stretch in range(stretches):
        winds = [
            constant_wind(
                np.array([force, 0.0]), horizon=len(STRETCH), gust=gust, seed=stretch * physics.drones + k
            )
            for k, force in enumerate(np.repeat(forces, drones))
        ]
        flight = CrazyflowFlight(physics, winds, start=_anywhere_in(MIDDLE, physics.drones, seed=stretch))
        flight.take_off()
        for action in STRETCH:
            flight.move(np.full(physics.drones, action))
        columns = flight.log().cells(cuts) % (GRID * cuts)  # (moves + 1, N)
        extra = np.diff(columns, axis=0) - cuts * MOVES[list(STRETCH), 1][:, None]
        by_force = np.clip(extra.reshape(len(STRETCH), len(forces), drones), -reach, reach)
        counts += (by_force[..., None] == np.arange(-reach, reach + 1)).sum(axis=(0, 2))
    physics.close()
    moves = stretches * len(STRETCH) * drones
    return Calibration(np.asarray(forces, dtype=float), counts / moves, np.full(len(forces), moves))


def _anywhere_in(state: int, drones: int, *, seed: int) -> Array:
    """Return (N, 2) positions in a cell; a drone without localisation may be anywhere in its cell."""
    return (
        centres(state) + (uniforms(seed, np.arange(2 * drones), WORLD).reshape(drones, 2) - 0.5) * CELL_SIZE
    )


def _parse(lines: Sequence[str], name: str) -> Calibration:
    try:
        header, *rows = [row for row in csv.reader(lines) if row]
        if (header[0], header[-1]) != ("force", "moves"):
            raise ValueError("its columns are not force, ..., moves")
        force, *frequency, moves = np.array(rows, dtype=float).T
    except (IndexError, ValueError) as error:
        raise InputError(f"{name}: not a calibration table ({error})") from None
    return Calibration(force, np.stack(frequency, axis=1), moves)
