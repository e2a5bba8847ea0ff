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
from replan.worlds.crazyflie.layouts import CELL_SIZE, GRID, centres, state_of
from replan.worlds.crazyflie.wind import constant_wind

TABLE = "calibration.csv"  # beside this file
FORCES = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06)  # N
DRONES = 32  # for each force
STRETCH = (0, 2, 1, 3, 4, 0, 3, 1, 2, 4)  # blind moves; together they lead back
MIDDLE = state_of((GRID // 2, GRID // 2 - 3))  # room downwind, which is to the right


@dataclass(frozen=True)
class Calibration:
    """Frequencies with which a move ends one cell further along or against a wind of a given mean force."""

    force: Array
    """(K,) mean force of the wind in newtons, ascending from 0."""
    along: Array
    """(K,) frequency of moves that end one cell further along the wind."""
    against: Array
    """(K,) frequency of moves that end one cell further against it."""
    moves: Array
    """(K,) number of moves behind each frequency."""

    def __post_init__(self) -> None:
        if self.force[0] != 0 or (np.diff(self.force) <= 0).any():
            raise InputError("a calibration's forces must ascend from 0")
        for name in ("along", "against"):
            rate = getattr(self, name)
            if (rate < 0).any() or (self.along + self.against > 1).any():
                raise InputError(f"a calibration's {name} must be frequencies")

    def drift(self, component: float) -> Array:
        """Return (3,) probabilities of -1, 0 and +1 cells along an axis for a wind of `component` newtons."""
        size = abs(component)
        if size > self.force[-1]:
            raise InputError(
                f"a wind of {size:.3f} N is beyond the calibration, which ends at {self.force[-1]:g} N"
            )
        along = np.interp(size, self.force, self.along)
        against = np.interp(size, self.force, self.against)
        law = np.array([against, 1 - along - against, along])
        return law if component >= 0 else law[::-1]

    def write(self, path: str | Path) -> None:
        """Write the table as a CSV file."""
        with Path(path).open("w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["force", "along", "against", "moves"])
            for force, along, against, moves in zip(
                self.force, self.along, self.against, self.moves, strict=True
            ):
                rows.writerow([f"{force:g}", f"{along:.6f}", f"{against:.6f}", int(moves)])


def read_calibration(path: str | Path) -> Calibration:
    """Read a table that `Calibration.write` wrote."""
    return _parse(Path(path).read_text().splitlines(), str(path))


@cache
def calibration() -> Calibration:
    """Return the table that comes with the package."""
    lines = resources.files("replan.worlds.crazyflie").joinpath(TABLE).read_text().splitlines()
    return _parse(lines, TABLE)


def calibrate(*, forces: Sequence[float] = FORCES, drones: int = DRONES, stretches: int = 3) -> Calibration:
    """Fly in the simulator and count how far each move leads."""
    from replan.worlds.crazyflie.crazyflow_flight import CrazyflowFlight
    from replan.worlds.crazyflie.physics import Physics

    physics = Physics(len(forces) * drones)
    along, against = np.zeros((2, len(forces)))
    for stretch in range(stretches):
        winds = [
            constant_wind(np.array([force, 0.0]), horizon=len(STRETCH), seed=stretch * physics.drones + k)
            for k, force in enumerate(np.repeat(forces, drones))
        ]
        flight = CrazyflowFlight(physics, winds, start=_anywhere_in(MIDDLE, physics.drones, seed=stretch))
        flight.take_off()
        for action in STRETCH:
            flight.move(np.full(physics.drones, action))
        columns = flight.log().cells() % GRID  # (moves + 1, N)
        extra = np.diff(columns, axis=0) - MOVES[list(STRETCH), 1][:, None]
        by_force = extra.reshape(len(STRETCH), len(forces), drones)
        along += np.maximum(by_force, 0).sum(axis=(0, 2))
        against += np.maximum(-by_force, 0).sum(axis=(0, 2))
    physics.close()
    moves = stretches * len(STRETCH) * drones
    counted = np.full(len(forces), moves)
    return Calibration(np.asarray(forces, dtype=float), along / moves, against / moves, counted)


def _anywhere_in(state: int, drones: int, *, seed: int) -> Array:
    """Return (N, 2) positions in a cell; a drone without localisation may be anywhere in its cell."""
    return (
        centres(state) + (uniforms(seed, np.arange(2 * drones), WORLD).reshape(drones, 2) - 0.5) * CELL_SIZE
    )


def _parse(lines: Sequence[str], name: str) -> Calibration:
    try:
        rows = list(csv.DictReader(lines))
        columns = [
            np.array([float(row[key]) for row in rows]) for key in ("force", "along", "against", "moves")
        ]
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{name}: not a calibration table ({error})") from None
    return Calibration(*columns)
