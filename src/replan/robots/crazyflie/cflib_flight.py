"""A real Crazyflie, or a firmware simulator, over any link of Bitcraze's cflib.

Nothing here knows of our own simulator. cflib is under the GPLv3, so it is imported only when a flight over a
link is asked for. The drone stands on the middle of the start cell before take-off: that fixes the frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from replan import SlipKernel
from replan.robots.crazyflie.cflib_craft import CflibCraft
from replan.robots.crazyflie.craft import (
    FlightClock,
    FlightLimits,
    Ramp,
    Sample,
    Setpoint,
    Tracking,
    Vector,
)
from replan.robots.crazyflie.flight import FlightAborted, FlightLog
from replan.robots.crazyflie.guard import Guard
from replan.robots.crazyflie.landing import Landing
from replan.robots.crazyflie.layouts import (
    CELL_SIZE,
    GRID,
    HEIGHT,
    MOVE_SECONDS,
    START,
    WALL,
    Wind,
    cells_at,
    centres,
    state_of,
)
from replan.typing import Array, Indices

CLIMB_SECONDS = 2.0
ZERO_LENGTH = 0.01  # m; a shorter move is skipped
RAMP_SHARE = 0.6  # of a move's time; the rest is for settling
WIND_STIFFNESS = 0.44  # N/m: what a steady force moves the drone by, measured in the simulator
NOWHERE: Vector = (math.nan, math.nan, math.nan)


class CflibFlight:
    """A `Flight` of one drone."""

    drones = 1

    def __init__(
        self,
        uri: str,
        *,
        wind: Wind | None = None,
        limits: FlightLimits | None = None,
        patience: float = 5.0,
        clock: FlightClock | None = None,
    ) -> None:
        """`wind` is simulated: it shifts the setpoints, unnoticed until the next update, as in the paper.

        Connecting fails when nothing arrives for `patience` seconds.
        """
        self.uri = uri
        self.limits = limits or FlightLimits()
        self._wind = wind
        self._patience = patience
        self._clock = clock or FlightClock()
        self._craft: CflibCraft | None = None
        self._guard: Guard | None = None
        self._samples: list[tuple[float, int, Vector, Vector]] = []
        self._began = 0.0
        self._moves = -1
        self._ramp: Ramp | None = None
        self._knows_place = True
        self._stopped: str | None = None
        self.landing: Landing | None = None

    def take_off(self) -> None:
        """Connect, check, arm and climb. Nothing is armed unless the state is sane."""
        self._check()
        craft = self._craft = CflibCraft(self.uri, self._on_sample, self._clock)
        craft.connect(self._patience, self._check)
        craft.check_on_floor(self.limits)
        self._check()
        self._guard = Guard(craft, self._setpoint, self.limits, self._clock)
        self._began = self._clock.now()
        try:
            craft.arm()
        finally:
            self._guard.start()  # from here on every way out is a landing
        x, y = map(float, centres(state_of(START)))
        self._ramp = Ramp((x, y, 0.0), (x, y, HEIGHT), self._clock.now(), CLIMB_SECONDS)
        self._wait(CLIMB_SECONDS + MOVE_SECONDS)
        if (reached := craft.latest().position[2]) < 0.6 * HEIGHT:
            raise FlightAborted(f"no take-off: still at {reached:.2f} m")

    def localise(self, which: Sequence[int]) -> Array:
        """(1, 2) position by the drone's own estimator; the next setpoint is made from there."""
        self._check()
        assert self._craft is not None, "take off first"
        self._knows_place = True
        seen = self._craft.next_sample(self._check).position[:2]
        return np.array([seen for _ in which])

    def move(self, actions: Indices) -> None:
        """Stream setpoints to the next cell; a move of no length is skipped, the drone goes on hovering."""
        self._check()
        assert self._ramp is not None and self._craft is not None, "take off first"
        self._moves += 1
        told = self._ramp.end
        place = self._craft.latest().position[:2]
        base = centres(cells_at(place)) if self._knows_place else np.array(told[:2])
        target = base + SlipKernel.moves[int(actions[0])][::-1] * CELL_SIZE
        if self._wind is not None:
            target = target + self._wind.force[self._moves].mean(axis=0) / WIND_STIFFNESS
        x, y = map(float, np.clip(target, WALL, GRID * CELL_SIZE - WALL))
        self._knows_place = False
        if math.dist(told[:2], (x, y)) < ZERO_LENGTH:
            return
        self._ramp = Ramp(told, (x, y, HEIGHT), self._clock.now(), RAMP_SHARE * MOVE_SECONDS)
        self._wait(MOVE_SECONDS)

    def stop(self, reason: str) -> None:
        """Break the flight off; the guard lands at once, whatever the caller is doing."""
        self._stopped = reason
        if self._guard is not None:
            self._guard.trouble = self._guard.trouble or reason

    def land(self) -> None:
        """Land where the drone is, wait until it is seen down or known to be lost, and close the link."""
        if self._guard is not None and self._guard.ident is not None:
            self._guard.land()
        if self.landing is None:
            self.landing = self._not_flown() if self._guard is None else self._guard.landing
            if self._craft is not None:
                self._craft.close()

    @property
    def tracking(self) -> Tracking | None:
        """Tracking error of the flight; None before take-off."""
        return None if self._guard is None else self._guard.tracking

    def log(self) -> FlightLog:
        """Every state sample from arming to the landing."""
        samples = self._samples or [(0.0, -1, NOWHERE, NOWHERE)]
        times, moves, positions, setpoints = zip(*samples, strict=True)
        return FlightLog(
            np.array(times), np.array(moves), np.array(positions)[:, None, :], np.array(setpoints)[:, None, :]
        )

    def _setpoint(self) -> Setpoint | None:
        return None if self._ramp is None else self._ramp.at(self._clock.now())

    def _on_sample(self, sample: Sample) -> None:
        if self._guard is not None and not self._guard.is_landing:
            told = self._setpoint()
            place = NOWHERE if told is None else told.position
            self._samples.append((sample.time - self._began, self._moves, sample.position, place))

    def _not_flown(self) -> Landing:
        if self._craft is not None and self._craft.was_found_flying:
            return Landing("left flying", "somebody else flies it")
        return Landing("never took off")

    def _check(self) -> None:
        reason = self._stopped or (self._guard.trouble if self._guard is not None else None)
        if reason is not None:
            raise FlightAborted(reason)

    def _wait(self, seconds: float) -> None:
        until = self._clock.now() + seconds
        while (left := until - self._clock.now()) > 0:
            self._check()
            self._clock.sleep(min(0.02, left))
        self._check()
