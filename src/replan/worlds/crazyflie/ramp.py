"""Setpoints on a minimum-jerk curve, the one that simulated flights follow too.

A position controller that ignores the velocity of a setpoint trails a moving one by velocity / gain. Its
setpoint is therefore moved ahead by that much, which makes it follow the curve itself.
"""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float, float]  # m, m/s or m/s2
REST: Point = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Setpoint:
    """Where the drone is to be at one time, and how it is to move there."""

    position: Point
    velocity: Point = REST
    acceleration: Point = REST

    def ahead(self, gains: Point) -> Setpoint:
        """Return the setpoint moved ahead by velocity / gain along each axis."""
        x, y, z = (p + v / k for p, v, k in zip(self.position, self.velocity, gains, strict=True))
        return Setpoint((x, y, z), self.velocity, self.acceleration)


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
