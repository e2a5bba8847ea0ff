"""The thread that keeps a real drone safe: it streams setpoints, watches, and lands.

It works whatever the rest of the program does. A planner that hangs leaves the drone hovering on the last
setpoint; trouble, or a request, makes this thread land it.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from replan.worlds.crazyflie.layouts import CELL_SIZE, GRID

log = logging.getLogger(__name__)

Point = tuple[float, float, float]
TICK = 0.05  # s between setpoints; the firmware wants one at least every 0.5 s


@dataclass(frozen=True)
class Limits:
    """What ends a flight."""

    fence_margin: float = 0.20  # m beyond the grid's edge
    ceiling: float = 1.2  # m above the floor
    battery_floor: float = 3.1  # V under load, for more than a second
    silence: float = 1.0  # s without a state sample: the link is lost
    link_patience: float = 8.0  # s of trying to reach a lost drone, to land it
    landing_speed: float = 0.2  # m/s


@dataclass(frozen=True)
class Sample:
    """What the drone said of itself last."""

    time: float  # monotonic seconds
    position: Point  # layout frame
    battery: float | None  # V; None where the drone does not report it


class Craft(Protocol):
    """What the guard needs of a drone: commands that neither block for long nor raise on a lost link."""

    def send_position(self, setpoint: Point) -> None:
        """Hold this position."""
        ...

    def send_landing(self, seconds: float) -> bool:
        """Land where it is. False if the drone cannot be reached; a later call tries again."""
        ...

    def send_stop(self) -> None:
        """Disarm. Only ever called on the floor, when the landing is over."""
        ...


class Guard(threading.Thread):
    """Streams, watches and lands; not a daemon, so that the program cannot end with a drone in the air."""

    def __init__(
        self, craft: Craft, latest: Callable[[], Sample], setpoint: Callable[[], Point | None], limits: Limits
    ) -> None:
        """`setpoint` gives what to stream now, or None while the drone's own commander flies it."""
        super().__init__(name="replan-flight-guard", daemon=False)
        self._craft = craft
        self._latest = latest
        self._setpoint = setpoint
        self._limits = limits
        self._asked_to_land = threading.Event()
        self._strong_at = time.monotonic()
        self._link_error: str | None = None
        self.trouble: str | None = None  # why the flight ends early
        self.outcome: str = "in the air"
        self.is_down = False  # seen on the floor after its landing

    def land(self) -> None:
        """Land and wait until that is done. Once asked for, nothing takes it back, not even Ctrl-C."""
        self._asked_to_land.set()
        self.join()

    def lost(self, message: str) -> None:
        """Told by the link that it is gone."""
        self._link_error = message

    def run(self) -> None:
        """Until the drone is down."""
        while not self._asked_to_land.is_set() and self.trouble is None:
            try:
                self.trouble = self._look()
                setpoint = self._setpoint()
                if self.trouble is None and setpoint is not None:
                    self._craft.send_position(setpoint)
            except Exception as error:
                self.trouble = f"{type(error).__name__} while flying: {error}"
            self._asked_to_land.wait(TICK)
        if self.trouble is not None:
            log.warning("landing: %s", self.trouble)
        self._bring_down()

    def _look(self) -> str | None:
        """What is wrong, or None."""
        now, sample, limits = time.monotonic(), self._latest(), self._limits
        if self._link_error is not None:
            return f"link lost: {self._link_error}"
        if now - sample.time > limits.silence:
            return f"link lost: no state for {now - sample.time:.1f} s"
        if not all(map(math.isfinite, sample.position)):
            return f"the position is not a number: {sample.position}"
        if reason := breach(sample.position, limits):
            return reason
        if sample.battery is None or sample.battery >= limits.battery_floor:
            self._strong_at = now
        if now - self._strong_at > 1.0:
            return f"battery at {sample.battery:.2f} V, below {limits.battery_floor:g} V"
        return None

    def _bring_down(self) -> None:
        """Ask for a landing until the drone is seen on the floor, has had time for it, or is out of reach."""
        give_up = time.monotonic() + self._limits.link_patience
        reached = False
        for _ in range(2):
            seconds = self._landing_time()
            while not (reached := self._try_landing(seconds)) and time.monotonic() < give_up:
                time.sleep(0.25)
            if not reached:
                break
            time.sleep(seconds)  # then the drone's own commander stops the motors; never before the floor
            done = time.monotonic() + 1.0
            while time.monotonic() < done and not self._on_floor():
                time.sleep(TICK)
            if self._on_floor():
                self._craft.send_stop()
                self.outcome, self.is_down = "landed, seen on the floor", True
                return
        self.outcome = (
            "landing commanded, not seen on the floor"
            if reached
            else "out of reach: the firmware's own setpoint watchdog ends the flight"
        )

    def _try_landing(self, seconds: float) -> bool:
        try:
            return self._craft.send_landing(seconds)
        except Exception as error:
            log.warning("the landing command failed and is tried again: %s", error)
            return False

    def _landing_time(self) -> float:
        height = self._latest().position[2]
        height = height if math.isfinite(height) else self._limits.ceiling / 2
        return max(1.0, height / self._limits.landing_speed)

    def _on_floor(self) -> bool:
        sample = self._latest()
        fresh = time.monotonic() - sample.time < self._limits.silence
        return fresh and math.isfinite(sample.position[2]) and sample.position[2] < 0.08


def breach(position: Point, limits: Limits) -> str | None:
    """How a position lies outside the geofence, or None."""
    x, y, z = position
    low, high = -limits.fence_margin, GRID * CELL_SIZE + limits.fence_margin
    if not (low <= x <= high and low <= y <= high):
        return f"geofence: ({x:.2f}, {y:.2f}) m is outside {low:g} to {high:g} m"
    if z > limits.ceiling:
        return f"geofence: {z:.2f} m is above the ceiling of {limits.ceiling:g} m"
    return None
