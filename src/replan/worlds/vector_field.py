"""A vector field over time on a grid: currents or winds, interpolated between their times and points.

Positions are x and y, to the east and to the north: longitude and latitude in degrees, or metres. Velocities
are m/s to the east and to the north. They are linear in time, bilinear in space, and 0 at points that are
land.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from replan.errors import InputError
from replan.typing import Array
from replan.worlds.wind_table import show_time

EARTH_RADIUS = 6_371_000.0  # metres
METRES_PER_DEGREE = np.pi * EARTH_RADIUS / 180
BETWEEN_POLES = 89.9
"""Degrees of latitude up to which a step to the east has a length."""


@dataclass(frozen=True, eq=False)
class VectorField:
    """A vector field over time."""

    name: str
    """Its origin, for messages."""
    times: Array = field(repr=False)
    """(n,) seconds since 1970, ascending."""
    x: Array = field(repr=False)
    """(X,) degrees or metres to the east, ascending."""
    y: Array = field(repr=False)
    """(Y,) degrees or metres to the north, ascending."""
    velocity: Array = field(repr=False)
    """(n, Y, X, 2) m/s to the east and to the north, 0 on land."""
    land: np.ndarray = field(repr=False)
    """(Y, X) bool: points without a velocity."""
    degrees: bool
    """Whether x and y are longitude and latitude in degrees; else they are metres."""

    def at(self, positions: Array, time: float) -> Array:
        """(N, 2) velocity at (N, 2) positions and a time; beyond the grid that of its border."""
        after = int(np.clip(np.searchsorted(self.times, time, side="right"), 1, len(self.times) - 1))
        since = (time - self.times[after - 1]) / (self.times[after] - self.times[after - 1])
        column, right = _between(self.x, positions[:, 0])
        row, up = _between(self.y, positions[:, 1])
        total = np.zeros(positions.shape)
        for moment, share in ((after - 1, 1 - since), (after, since)):
            velocity = self.velocity[moment]
            south = _mean(velocity[row, column], velocity[row, column + 1], right)
            north = _mean(velocity[row + 1, column], velocity[row + 1, column + 1], right)
            total += share * _mean(south, north, up)
        return total

    def on_land(self, positions: Array) -> np.ndarray:
        """(N,) bool: whether the nearest point of the grid is land."""
        column, right = _between(self.x, positions[:, 0])
        row, up = _between(self.y, positions[:, 1])
        return self.land[row + (up > 0.5), column + (right > 0.5)]

    def metres(self, y: Array) -> Array:
        """(N, 2) metres of one unit of x and of y at (N,) y."""
        if not self.degrees:
            return np.ones((len(y), 2))
        nearest = np.clip(y, -BETWEEN_POLES, BETWEEN_POLES)
        return METRES_PER_DEGREE * np.stack([np.cos(np.radians(nearest)), np.ones(len(y))], axis=1)

    def distances(self, positions: Array, goal: Array) -> Array:
        """(N,) metres from (N, 2) positions to a goal (2,), on the sphere if x and y are degrees."""
        if not self.degrees:
            return np.hypot(*(positions - goal).T)
        (longitude, latitude), (goal_longitude, goal_latitude) = np.radians(positions).T, np.radians(goal)
        apart = np.sin((latitude - goal_latitude) / 2) ** 2
        apart += np.cos(latitude) * np.cos(goal_latitude) * np.sin((longitude - goal_longitude) / 2) ** 2
        return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.clip(apart, 0, 1)))

    def around(self, longitude: float) -> VectorField:
        """Return the field with its longitudes within 180 degrees of the one given; metres stay."""
        if not self.degrees:
            return self
        x = longitude + (self.x - longitude + 180) % 360 - 180
        order = np.argsort(x)
        return replace(self, x=x[order], velocity=self.velocity[:, :, order], land=self.land[:, order])

    def known_at(self, time: float) -> VectorField:
        """Return the field by the maps up to `time`; the last one is kept until then."""
        known = np.flatnonzero(self.times <= time)
        times, maps = self.times[known], self.velocity[known]
        if times[-1] < time:
            times, maps = np.append(times, time), np.concatenate([maps, maps[-1:]])
        return replace(self, times=times, velocity=maps)

    def require_times(self, first: float, last: float) -> None:
        """Raise `InputError` if the field is not known between two times."""
        if first < self.times[0] or last > self.times[-1]:
            known = f"{show_time(self.times[0])} to {show_time(self.times[-1])}"
            wanted = f"{show_time(first)} to {show_time(last)}"
            raise InputError(f"{self.name}: the field is known from {known}, not from {wanted}")


def _between(axis: Array, values: Array) -> tuple[np.ndarray, Array]:
    """(N,) index of the point before each value, and (N,) fraction of the way to the next one."""
    before = np.clip(np.searchsorted(axis, values, side="right") - 1, 0, len(axis) - 2)
    fraction = (values - axis[before]) / (axis[before + 1] - axis[before])
    return before, np.clip(fraction, 0.0, 1.0)


def _mean(first: Array, second: Array, share: Array) -> Array:
    """(N, 2) first + share (second - first)."""
    return first + share[:, None] * (second - first)
