"""A real Crazyflie, or a firmware simulator, over any link of Bitcraze's cflib.

Nothing here knows of our own simulator. cflib is under the GPLv3, so it is imported only when a flight over a
link is asked for. The drone stands on the middle of the start cell before take-off: that fixes the frame.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence

import numpy as np

from replan.model.kernel import Array, Indices
from replan.model.slip import MOVES
from replan.worlds.crazyflie.cflib_craft import CflibCraft
from replan.worlds.crazyflie.flight import FlightAborted, FlightLog
from replan.worlds.crazyflie.guard import Guard, Limits, Point, Sample
from replan.worlds.crazyflie.layouts import CELL_SIZE, GRID, START, cells_at, centres, state_of
from replan.worlds.crazyflie.wind import Wind

log = logging.getLogger(__name__)

WALL = CELL_SIZE / 2  # m; no setpoint is nearer to the grid's edge
LIFTED = 0.05  # m; lower is still on the floor
ZERO_LENGTH = 0.01  # m; a shorter move is skipped
WIND_STIFFNESS = 0.44  # N/m: what a steady force moves the drone by, measured in the simulator
NOWHERE: Point = (math.nan, math.nan, math.nan)


class CflibFlight:
    """A `Flight` of one drone."""

    drones = 1

    def __init__(
        self,
        uri: str,
        *,
        height: float = 0.5,
        climb_speed: float = 0.25,
        move_seconds: float = 2.0,
        wind: Wind | None = None,
        limits: Limits | None = None,
        connect_seconds: float = 20.0,
    ) -> None:
        """`wind` is simulated: it shifts the setpoints, unnoticed until the next update, as in the paper."""
        self.uri = uri
        self.limits = limits or Limits()
        self._height = height
        self._climb_speed = climb_speed
        self._move_seconds = move_seconds
        self._wind = wind
        self._connect_seconds = connect_seconds
        self._craft: CflibCraft | None = None
        self._guard: Guard | None = None
        self._samples: list[tuple[float, int, Point, Point]] = []
        self._began = time.monotonic()
        self._moves = -1
        self._ramp: tuple[Point, Point, float] | None = None  # from, to, since when
        self._knows_place = True
        self._landed = False

    def take_off(self) -> None:
        """Connect, check, arm and climb. Nothing is armed unless the state is sane."""
        self._craft = CflibCraft(self.uri, self._on_sample)
        self._craft.connect(self._connect_seconds)
        self._craft.check_on_floor(self.limits)
        self._guard = Guard(self._craft, self._craft.latest, self._setpoint, self.limits)
        self._craft.on_lost = self._guard.lost
        self._began = time.monotonic()
        try:
            self._craft.arm()
        finally:
            self._guard.start()  # from here on every way out is a landing
        self._climb(self._craft)
        x, y = map(float, centres(state_of(START)))
        here = (x, y, self._height)
        self._ramp = (here, here, time.monotonic())
        self._wait(self._move_seconds)

    def localise(self, which: Sequence[int]) -> Array:
        """(1, 2) where the drone's estimator says it is; the next setpoint is made from there."""
        self._check()
        assert self._craft is not None, "take off first"
        self._knows_place = True
        seen = self._craft.next_sample(self._check).position[:2]
        return np.array([seen for _ in which])

    def move(self, actions: Indices) -> None:
        """Stream setpoints to the next cell; a move of no length is skipped, the drone goes on hovering."""
        self._check()
        self._moves += 1
        told = self._setpoint()
        assert told is not None, "take off first"
        base = centres(cells_at(self._position()[:2])) if self._knows_place else np.array(told[:2])
        target = base + MOVES[int(actions[0])][::-1] * CELL_SIZE
        if self._wind is not None:
            target = target + self._wind.force[self._moves].mean(axis=0) / WIND_STIFFNESS
        x, y = np.clip(target, WALL, GRID * CELL_SIZE - WALL)
        self._knows_place = False
        if math.dist(told[:2], (x, y)) < ZERO_LENGTH:
            return
        self._ramp = (told, (float(x), float(y), self._height), time.monotonic())
        self._wait(self._move_seconds)

    def land(self) -> None:
        """Down where the drone is, motors off once it is seen on the floor, link closed."""
        if self._guard is not None and self._guard.ident is not None:
            self._guard.land()
            log.warning("%s", self._guard.outcome)
        if self._craft is not None and not self._landed:
            self._landed = True
            self._craft.close(on_floor=self._guard is None or self._guard.is_down)

    @property
    def landing(self) -> str:
        """How the flight ended."""
        return "never armed" if self._guard is None else self._guard.outcome

    def log(self) -> FlightLog:
        """Every state sample since the drone was armed."""
        samples = self._samples or [(0.0, -1, NOWHERE, NOWHERE)]
        times, moves, positions, setpoints = zip(*samples, strict=True)
        return FlightLog(
            np.array(times), np.array(moves), np.array(positions)[:, None, :], np.array(setpoints)[:, None, :]
        )

    def _climb(self, craft: CflibCraft) -> None:
        """Take off, and ask again while the drone stays down: for moments its supervisor says no."""
        seconds = self._height / self._climb_speed
        asked, patience = -math.inf, time.monotonic() + 2 * seconds + 3.0
        while self._position()[2] < 0.6 * self._height:
            if time.monotonic() > patience:
                raise FlightAborted(f"no take-off: still at {self._position()[2]:.2f} m")
            if self._position()[2] < LIFTED and time.monotonic() - asked > seconds:
                craft.climb(self._height, seconds)
                asked = time.monotonic()
            self._wait(0.05)
        self._wait(asked + seconds - time.monotonic())

    def _setpoint(self) -> Point | None:
        """Where the drone should be now, on a minimum-jerk way; None while its own commander flies it."""
        if self._ramp is None:
            return None
        begin, end, since = self._ramp
        u = min(max((time.monotonic() - since) / (0.6 * self._move_seconds), 0.0), 1.0)
        share = 10 * u**3 - 15 * u**4 + 6 * u**5
        x, y, z = (a + share * (b - a) for a, b in zip(begin, end, strict=True))
        return x, y, z

    def _position(self) -> Point:
        assert self._craft is not None, "take off first"
        return self._craft.latest().position

    def _on_sample(self, sample: Sample) -> None:
        if self._guard is not None:
            told = self._setpoint() or NOWHERE
            self._samples.append((sample.time - self._began, self._moves, sample.position, told))

    def _check(self) -> None:
        if self._guard is not None and self._guard.trouble is not None:
            raise FlightAborted(self._guard.trouble)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while True:
            self._check()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(0.02, left))
