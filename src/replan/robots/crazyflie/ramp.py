"""Setpoints on a minimum-jerk curve, the one that simulated flights follow too.

The PID controller of the firmware uses the position of a setpoint alone: it asks for the velocity
gain * (setpoint - position) and reaches it after a lag, so it trails a moving setpoint. The setpoint is
therefore moved ahead by (velocity + lag * acceleration) / gain, and the drone follows the curve itself.
"""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float, float]  # m, m/s or m/s2
REST: Point = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Setpoint:
    """Position, velocity and acceleration that the drone is to have at one time."""

    position: Point
    velocity: Point = REST
    acceleration: Point = REST

    def ahead(self, pid: PositionPid) -> Setpoint:
        """Return the setpoint that makes a PID controller follow this one."""
        parts = zip(self.position, self.velocity, self.acceleration, pid.gains, pid.lags, strict=True)
        x, y, z = (p + (v + lag * a) / gain for p, v, a, gain, lag in parts)
        return Setpoint((x, y, z), self.velocity, self.acceleration)


@dataclass(frozen=True)
class PositionPid:
    """The firmware's PID position controller, axis by axis."""

    gains: Point  # 1/s, velocity asked for by metre of error
    lags: Point  # s until a velocity is reached


@dataclass(frozen=True)
class Ramp:
    """A move from rest to rest."""

    begin: Point
    end: Point
    since: float  # s, on the flight's clock
    seconds: float

    def at(self, now: float) -> Setpoint:
        """Return the setpoint at a time; before and after the move it rests."""
        T = self.seconds
        u = min(max((now - self.since) / T, 0.0), 1.0)
        share = 10 * u**3 - 15 * u**4 + 6 * u**5
        speed = (30 * u**2 - 60 * u**3 + 30 * u**4) / T
        push = (60 * u - 180 * u**2 + 120 * u**3) / T**2
        way = [b - a for a, b in zip(self.begin, self.end, strict=True)]
        x, y, z = (a + share * w for a, w in zip(self.begin, way, strict=True))
        return Setpoint(
            (x, y, z),
            (speed * way[0], speed * way[1], speed * way[2]),
            (push * way[0], push * way[1], push * way[2]),
        )
