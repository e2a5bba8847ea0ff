"""Wind on the drone: a mean that drifts in strength and direction, and gusts about it.

The mean's strength follows a drift profile of the simulation study (by default Piecewise-Three-Short, the one
with the hardware experiment's n/T/H/B = 12/60/7/6), its direction turns slowly. Gusts are an
Ornstein-Uhlenbeck process. A layout and trial fix the wind, whatever the method.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from replan.model.drift import Burst, piecewise
from replan.model.kernel import Array
from replan.model.streams import WORLD, uniforms
from replan.robots.crazyflie.layouts import DENSITIES, Density

HORIZON = 60
THREE_SHORT: tuple[Burst, ...] = ((0.12, 0.22, 0.016), (0.46, 0.56, 0.020), (0.76, 0.88, 0.018))
MOVE_SECONDS = 2.0
FORCES_PER_MOVE = 20  # the force is held for 0.1 s

STRENGTH = 0.10  # N for a profile value of 1
TURN = np.deg2rad(2.0)  # greatest turn of the direction per move, either way
GUST_DEVIATION = 0.020  # N, standard deviation of each component
GUST_SECONDS = 1.0  # correlation time

_GUST_STREAM, _DIRECTION_STREAM = 1 << 40, 1 << 41


@dataclass(frozen=True)
class Wind:
    """The force of the wind on one drone, x right and y down, in newtons."""

    mean: Array = field(repr=False)
    """(T, 2) mean force during each move, which the calibrated model uses."""
    force: Array = field(repr=False)
    """(T, FORCES_PER_MOVE, 2) mean force with gusts."""

    @property
    def horizon(self) -> int:
        """T."""
        return len(self.mean)


def make_wind(
    density: Density,
    number: int,
    *,
    trial: int = 0,
    strength: float = STRENGTH,
    gust: float = GUST_DEVIATION,
    horizon: int = HORIZON,
) -> Wind:
    """Return the wind over a layout in a trial; the same arguments give the same wind."""
    seed = (number * len(DENSITIES) + DENSITIES.index(density)) * 1_000 + trial
    profile = strength * piecewise(horizon, slip=0.03, quiet=0.001, bursts=THREE_SHORT)
    first, turn = uniforms(seed + _DIRECTION_STREAM, np.arange(2), WORLD)
    angle = 2 * np.pi * first + (2 * turn - 1) * TURN * np.arange(horizon)
    mean = profile[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    steps = horizon * FORCES_PER_MOVE
    gusts = ornstein_uhlenbeck(steps, deviation=gust, step=1 / FORCES_PER_MOVE * MOVE_SECONDS, seed=seed)
    return Wind(mean, mean[:, None, :] + gusts.reshape(horizon, FORCES_PER_MOVE, 2))


def constant_wind(mean: Array, *, horizon: int, gust: float = GUST_DEVIATION, seed: int = 0) -> Wind:
    """Return gusts around one mean (2,) at all times, for calibration."""
    steady = np.broadcast_to(np.asarray(mean, dtype=float), (horizon, 2))
    steps = horizon * FORCES_PER_MOVE
    gusts = ornstein_uhlenbeck(steps, deviation=gust, step=MOVE_SECONDS / FORCES_PER_MOVE, seed=seed)
    return Wind(steady, steady[:, None, :] + gusts.reshape(horizon, FORCES_PER_MOVE, 2))


def ornstein_uhlenbeck(steps: int, *, deviation: float, step: float, seed: int) -> Array:
    """Return (steps, 2) a stationary Ornstein-Uhlenbeck process in two components, exact at these times."""
    from scipy.special import ndtri

    keep = np.exp(-step / GUST_SECONDS)
    draws = uniforms(seed + _GUST_STREAM, np.arange(2 * steps), WORLD).reshape(steps, 2)
    shocks = ndtri(np.clip(draws, 1e-12, 1 - 1e-12)) * deviation
    out = np.empty((steps, 2))
    out[0] = shocks[0]
    for k in range(1, steps):
        out[k] = keep * out[k - 1] + np.sqrt(1 - keep**2) * shocks[k]
    return out
