"""A drone on a link: the clock and setpoints of its flight, its reports and its limits.

Setpoints follow a minimum-jerk curve, the one that simulated flights follow too. The PID controller of the
firmware uses the position of a setpoint alone: it asks for the velocity gain * (setpoint - position) and
reaches it after a lag, so it trails a moving setpoint. The setpoint is therefore moved ahead by
(velocity + lag * acceleration) / gain, and the drone follows the curve itself.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

Vector = tuple[float, float, float]  # m, m/s or m/s2
REST: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Setpoint:
    """Position, velocity and acceleration that the drone is to have at one time."""

    position: Vector
    velocity: Vector = REST
    acceleration: Vector = REST

    def ahead(self, pid: PositionPid) -> Setpoint:
        """Return the setpoint that makes a PID controller follow this one."""
        parts = zip(self.position, self.velocity, self.acceleration, pid.gains, pid.lags, strict=True)
        x, y, z = (p + (v + lag * a) / gain for p, v, a, gain, lag in parts)
        return Setpoint((x, y, z), self.velocity, self.acceleration)


@dataclass(frozen=True)
class PositionPid:
    """The firmware's PID position controller, axis by axis."""

    gains: Vector  # 1/s, velocity asked for by metre of error
    lags: Vector  # s until a velocity is reached


def minimum_jerk(u: Any) -> tuple[Any, Any, Any]:
    """Return the share of a way that is done after the share u of its time, and its first two derivatives."""
    return (
        10 * u**3 - 15 * u**4 + 6 * u**5,
        30 * u**2 - 60 * u**3 + 30 * u**4,
        60 * u - 180 * u**2 + 120 * u**3,
    )


@dataclass(frozen=True)
class Ramp:
    """A move from rest to rest."""

    begin: Vector
    end: Vector
    since: float  # s, on the flight's clock
    seconds: float

    def at(self, now: float) -> Setpoint:
        """Return the setpoint at a time; before and after the move it rests."""
        T = self.seconds
        u = min(max((now - self.since) / T, 0.0), 1.0)
        share, first, second = minimum_jerk(u)
        speed, push = first / T, second / T**2
        way = [b - a for a, b in zip(self.begin, self.end, strict=True)]
        x, y, z = (a + share * w for a, w in zip(self.begin, way, strict=True))
        return Setpoint(
            (x, y, z),
            (speed * way[0], speed * way[1], speed * way[2]),
            (push * way[0], push * way[1], push * way[2]),
        )


class FlightClock:
    """A monotonic clock in real time, and the ways to wait on it; tests derive a simulated one."""

    def now(self) -> float:
        """Return the time in seconds."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        time.sleep(max(seconds, 0.0))

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Return True once `event` is set, or False after `seconds`."""
        return event.wait(seconds)


class Status(IntFlag):
    """The firmware's supervisor, as its log variable `supervisor.info` reports it."""

    ARMED = 1 << 1
    AUTO_ARMED = 1 << 2
    CAN_FLY = 1 << 3
    FLYING = 1 << 4
    TUMBLED = 1 << 5
    LOCKED = 1 << 6
    CRASHED = 1 << 7


@dataclass(frozen=True)
class Sample:
    """One report of the drone."""

    time: float  # s, when it arrived
    uptime: float  # s since the drone started, by its own clock
    position: Vector  # layout frame
    battery: float | None  # V; None if it is not reported
    status: Status | None  # None if it is not reported
    spread: float | None = None  # m, standard deviation of its position; None if it is not reported


@dataclass(frozen=True)
class FlightLimits:
    """Conditions that end a flight."""

    fence_margin: float = 0.20  # m beyond the grid's edge
    ceiling: float = 1.2  # m above the floor
    battery_floor: float = 3.1  # V under load, for more than a second
    silence: float = 0.8  # s without a report: the link is lost
    link_patience: float = 15.0  # s without a report after which a landing's end is given up as unknown
    landing_speed: float = 0.2  # m/s
    off_course: float = 0.25  # m from the setpoint: an excursion begins
    back_on_course: float = 0.20  # m from the setpoint: it ends
    excursion: float = 0.3  # s of an excursion after which the drone lands
    standstill: float = 0.5  # s without a setpoint of ours, after which the firmware levels the drone
    spread: float = 0.25  # m, standard deviation of the position: positioning has been lost for some 5 s


@dataclass(frozen=True)
class Tracking:
    """Tracking error of a drone: how closely it followed its setpoints."""

    farthest: float = 0.0  # m from its setpoint
    excursions: int = 0  # times that it was off course for too long


@dataclass(frozen=True)
class Restart:
    """A restart of the drone while it was flown."""

    height: float  # m, in the last report before
    silence: float  # s between that report and the restart
