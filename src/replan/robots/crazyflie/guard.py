"""The thread that keeps a real drone safe: it streams setpoints, watches, and lands.

It works whatever the rest of the program does. A planner that hangs leaves the drone hovering on the last
setpoint; trouble, or a request, makes this thread land it.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from replan.robots.crazyflie.craft import (
    FlightClock,
    FlightLimits,
    Sample,
    Setpoint,
    Status,
    Tracking,
    Vector,
)
from replan.robots.crazyflie.landing import FallWatch, Landing, bring_down, disarm
from replan.robots.crazyflie.layouts import CELL_SIZE, GRID

if TYPE_CHECKING:
    from replan.robots.crazyflie.cflib_craft import CflibCraft

log = logging.getLogger(__name__)

TICK = 0.02  # s between setpoints; the firmware wants one at least every 0.5 s
LIFTED = 0.05  # m; lower is still on the floor


class Guard(threading.Thread):
    """Streams, watches and lands; not a daemon, so that the program cannot end with a drone in the air."""

    def __init__(
        self,
        craft: CflibCraft,
        setpoint: Callable[[], Setpoint | None],
        limits: FlightLimits,
        clock: FlightClock,
    ) -> None:
        """`setpoint` gives the setpoint to stream now, or None before take-off."""
        super().__init__(name="replan-flight-guard", daemon=False)
        self._craft = craft
        self._setpoint = setpoint
        self._limits = limits
        self._clock = clock
        self._asked_to_land = threading.Event()
        self._done = threading.Event()
        self._strong_at = clock.now()
        self._highest = 0.0  # m, as reported
        self._looked_at = clock.now()
        self._course, self._falls = CourseWatch(limits), FallWatch()
        self._may_fly = False  # a setpoint has been sent
        self.trouble: str | None = None  # why the flight ends early
        self.landing: Landing | None = None

    def land(self) -> None:
        """Land and wait until that is done. Once asked for, nothing takes it back, not even Ctrl-C."""
        self._asked_to_land.set()
        while not self._done.is_set():
            try:
                self._clock.wait(self._done, 0.1)
            except KeyboardInterrupt:
                log.warning("landing first")

    @property
    def is_landing(self) -> bool:
        """Whether the flight is over."""
        return self.trouble is not None or self._asked_to_land.is_set()

    def run(self) -> None:
        """Fly until asked to land, or until something is wrong; then land."""
        try:
            while not self.is_landing:
                self._look_and_stream()
                self._clock.wait(self._asked_to_land, TICK)
            self.landing = self._end()
        finally:
            self._done.set()

    def _look_and_stream(self) -> None:
        try:
            setpoint = self._setpoint()
            if found := self._look(setpoint):  # another thread may set `trouble` at any time
                self.trouble = found
            if self.trouble is None and setpoint is not None:
                self._may_fly = True
                self._craft.send_setpoint(setpoint)
        except Exception as error:
            self.trouble = f"{type(error).__name__} while flying: {error}"

    @property
    def tracking(self) -> Tracking:
        """Tracking error so far."""
        return self._course.tracking

    def _look(self, setpoint: Setpoint | None) -> str | None:
        """Return the reason to land, or None."""
        now, sample, limits = self._clock.now(), self._craft.latest(), self._limits
        stood, self._looked_at = now - self._looked_at, now
        if now - sample.time > limits.silence:
            error = self._craft.link_error
            return f"link lost: no report for {now - sample.time:.1f} s" + (f" ({error})" if error else "")
        if not all(map(math.isfinite, sample.position)):
            return f"the position is not a number: {sample.position}"
        if self._may_fly and stood > limits.standstill:
            return f"the program stood still for {stood:.1f} s"
        if self._craft.restart is not None:
            return "the drone restarted"
        self._highest = max(self._highest, sample.position[2])
        self._falls.look(sample)
        if sample.status is not None and (Status.LOCKED | Status.CRASHED | Status.TUMBLED) & sample.status:
            return "the drone's supervisor stopped it"
        if reason := breach(sample.position, limits) or self._course.look(sample, setpoint):
            return reason
        if sample.spread is not None and sample.spread > limits.spread:
            return f"positioning is lost: the drone knows its position only to {sample.spread:.2f} m"
        if sample.battery is None or sample.battery >= limits.battery_floor:
            self._strong_at = now
        if now - self._strong_at > 1.0:
            return f"battery at {sample.battery:.2f} V, below {limits.battery_floor:g} V"
        if not threading.main_thread().is_alive():
            return "the program ended"
        return None

    def _end(self) -> Landing:
        if not self._may_fly:
            disarm(self._craft, self._clock)
            return Landing("never took off", self.trouble)
        landing = bring_down(self._craft, self._limits, self._clock, self._falls)
        if landing.outcome != "landed" or self._highest > LIFTED:
            return landing
        if self.trouble is not None and self.trouble.startswith("link lost"):
            return Landing("landed", "it was not seen to leave the floor")
        return Landing("never took off", self.trouble)


class CourseWatch:
    """Compares a drone's position with its setpoint, with hysteresis."""

    def __init__(self, limits: FlightLimits) -> None:
        self._limits = limits
        self._newest: Sample | None = None
        self._since: float | None = None  # s, when the present excursion began
        self.tracking = Tracking()

    def look(self, sample: Sample, setpoint: Setpoint | None) -> str | None:
        """Return the reason to land if the drone has been off course for too long, else None."""
        if setpoint is None or sample is self._newest:
            return None
        self._newest, limits = sample, self._limits
        distance = math.dist(sample.position, setpoint.position)
        farthest = max(self.tracking.farthest, distance)
        self.tracking = replace(self.tracking, farthest=farthest)
        if distance < limits.back_on_course:
            self._since = None
        elif distance >= limits.off_course and self._since is None:
            self._since = sample.time
        if self._since is None or sample.time - self._since < limits.excursion:
            return None
        self.tracking = replace(self.tracking, excursions=self.tracking.excursions + 1)
        return f"off course: {distance:.2f} m from its setpoint"


def breach(position: Vector, limits: FlightLimits) -> str | None:
    """Return how a position lies outside the geofence, or None."""
    x, y, z = position
    low, high = -limits.fence_margin, GRID * CELL_SIZE + limits.fence_margin
    if not (low <= x <= high and low <= y <= high):
        return f"geofence: ({x:.2f}, {y:.2f}) m is outside {low:g} to {high:g} m"
    if z > limits.ceiling:
        return f"geofence: {z:.2f} m is above the ceiling of {limits.ceiling:g} m"
    return None
