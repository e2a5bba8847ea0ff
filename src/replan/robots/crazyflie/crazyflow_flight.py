"""Flights in simulated physics: crazyflow's cf2x with its Mellinger controller, N drones as one batch.

Between updates a drone has no localisation. At the end of a move it takes its setpoint for its position, so
what wind has added to the move stays unnoticed, and the next move starts from there. An update shows it where
it is; its next setpoint is then the middle of the neighbouring cell. docs/crazyflie.md has the parameters.

`calibrate` measures slip as a function of wind: drones set out from anywhere in a cell on short blind
stretches in steady wind with gusts, and after each move the cells that a drone has come further than
commanded are counted, along the wind and against it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from replan import ACTIONS, SlipKernel, uniforms
from replan.errors import InputError
from replan.robots.crazyflie.flight import FlightAborted, FlightLog
from replan.robots.crazyflie.landing import Landing
from replan.robots.crazyflie.layouts import (
    CELL_SIZE,
    FORCES_PER_MOVE,
    GRID,
    GUST_DEVIATION,
    HEIGHT,
    MOVE_SECONDS,
    START,
    WALL,
    Wind,
    cells_at,
    centres,
    constant_wind,
    state_of,
)
from replan.robots.crazyflie.physics import Physics
from replan.robots.crazyflie.world import Calibration
from replan.typing import Array, Indices

REACHES = {1: 1, 3: 2}  # the most cells that wind adds to a move
FORCES = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06)  # N
DRONES = 32  # for each force
STRETCH = (0, 2, 1, 3, 4, 0, 3, 1, 2, 4)  # blind moves; together they lead back
MIDDLE = state_of((GRID // 2, GRID // 2 - 3))  # room downwind, which is to the right


class CrazyflowFlight:
    """A `Flight` of simulated drones, each in its own world and wind.

    A move is simulated in the background; calls that need its result wait for it.
    """

    def __init__(
        self, physics: Physics, winds: Sequence[Wind], *, start: Array | None = None, cuts: int = 1
    ) -> None:
        """Drone k flies in winds[k], from start[k] (x, y) where given; spare places idle along.

        After an update a move starts from the middle of the cell, or of the sub-cell where cells are cut.
        """
        if not 1 <= len(winds) <= physics.drones:
            raise InputError(f"{len(winds)} winds do not fit a batch of {physics.drones} drones")
        self._physics = physics
        self._winds = np.stack([wind.force for wind in winds], axis=2)  # (T, FORCES_PER_MOVE, W, 2)
        self._still = np.zeros_like(self._winds[0])
        self._drones = len(winds)
        self._seen = np.tile([*centres(state_of(START)), 0.0], (physics.drones, 1))  # (N, 3) newest positions
        if start is not None:
            self._seen[: self._drones, :2] = start
        self._knows_place = np.full(physics.drones, start is None)
        self._under_way: tuple[Array, int] | None = None  # setpoints and number of the move being flown
        self._samples: list[tuple[Array, Indices, Array, Array]] = []
        self._moves = 0
        self._cuts = cuts
        self._in_air = False
        self._stopped: str | None = None
        self.landing: Landing | None = None
        self.tracking = None
        physics.place(self._seen)

    @property
    def drones(self) -> int:
        """N."""
        return self._drones

    def take_off(self) -> None:
        """Take off in still air and settle for a moment."""
        self._in_air = True
        for _ in range(2):
            here = self._positions()
            self._begin(here, _at_height(here, HEIGHT), self._still, number=-1)

    def localise(self, which: Sequence[int]) -> Array:
        """Return (len(which), 2) positions; the next setpoint of these drones starts from them."""
        self._knows_place[list(which)] = True
        return self._positions()[list(which), :2]

    def move(self, actions: Indices) -> None:
        """Move every drone; a setpoint beyond the walls is moved to the middle of the outermost cell."""
        if self._stopped is not None:
            raise FlightAborted(self._stopped)
        spare = np.full(self._physics.drones - len(actions), ACTIONS.index("stay"))
        here = self._positions()
        base = np.where(
            self._knows_place[:, None], centres(cells_at(here[:, :2], self._cuts), self._cuts), here[:, :2]
        )
        target = base + SlipKernel.moves[np.concatenate([actions, spare])][:, ::-1] * CELL_SIZE
        target = np.clip(target, WALL, GRID * CELL_SIZE - WALL)
        end = _at_height(target, HEIGHT)
        self._knows_place[:] = False
        self._begin(_at_height(here, HEIGHT), end, self._winds[self._moves], number=self._moves)
        self._moves += 1

    def stop(self, reason: str) -> None:
        """Break the flight off before the next move."""
        self._stopped = reason

    def land(self) -> None:
        """Land in still air."""
        if self._in_air:
            here = self._positions()
            samples = list(self._samples)
            self._begin(here, _at_height(here, 0.0), self._still, number=self._moves)
            self._positions()
            self._samples = samples  # the way down is no part of the mission
            self._in_air = False
            self.landing = Landing("landed")
        elif self.landing is None:
            self.landing = Landing("never took off", self._stopped)

    def log(self) -> FlightLog:
        """Return samples at 10 Hz, from take-off until before landing."""
        self._positions()
        times, moves, positions, setpoints = (
            np.concatenate(part) for part in zip(*self._samples, strict=True)
        )
        return FlightLog(times, moves, positions, setpoints)

    def _begin(self, begin: Array, end: Array, force: Array, *, number: int) -> None:
        spare = self._physics.drones - self._drones
        force = np.concatenate([force, np.repeat(force[:, -1:], spare, axis=1)], axis=1)
        self._physics.begin_move(begin, end, force, MOVE_SECONDS)
        self._under_way = (end[: self._drones], number)

    def _positions(self) -> Array:
        """Return (N, 3) positions after the move under way."""
        if self._under_way is not None:
            setpoints, number = self._under_way
            self._under_way = None
            path = self._physics.end_move()
            first = sum(len(times) for times, *_ in self._samples)
            times = (first + np.arange(1, len(path) + 1)) * MOVE_SECONDS / FORCES_PER_MOVE
            told = np.repeat(setpoints[None], len(path), axis=0)
            self._samples.append((times, np.full(len(path), number), path[:, : self._drones], told))
            self._seen = path[-1]
        return self._seen


def _at_height(positions: Array, height: float) -> Array:
    """Return (N, 3) the same positions at another height."""
    return np.column_stack([positions[:, :2], np.full(len(positions), height)])


def calibrate(
    *,
    forces: Sequence[float] = FORCES,
    drones: int = DRONES,
    stretches: int = 3,
    cuts: int = 1,
    gust: float = GUST_DEVIATION,
) -> Calibration:
    """Fly in the simulator and count how far each move leads.

    Parameters
    ----------
    forces : sequence of float
        Mean forces of the wind in newtons, ascending from 0.
    drones : int
        Drones for each force.
    stretches : int
        Blind stretches of ten moves for each drone.
    cuts : {1, 3}
        Count in whole cells, or in cells cut 3 x 3.
    gust : float
        Standard deviation of each component of the gusts, in newtons.

    Returns
    -------
    Calibration
        Frequencies of additional cells by force.

    Raises
    ------
    InputError
        If the extra `crazyflow` is not installed.
    """
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
        extra = np.diff(columns, axis=0) - cuts * SlipKernel.moves[list(STRETCH), 1][:, None]
        by_force = np.clip(extra.reshape(len(STRETCH), len(forces), drones), -reach, reach)
        counts += (by_force[..., None] == np.arange(-reach, reach + 1)).sum(axis=(0, 2))
    physics.close()
    moves = stretches * len(STRETCH) * drones
    return Calibration(np.asarray(forces, dtype=float), counts / moves, np.full(len(forces), moves))


def _anywhere_in(state: int, drones: int, *, seed: int) -> Array:
    """Return (N, 2) positions in a cell; a drone without localisation may be anywhere in its cell."""
    return (
        centres(state) + (uniforms(seed, np.arange(2 * drones), "world").reshape(drones, 2) - 0.5) * CELL_SIZE
    )
