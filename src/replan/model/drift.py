"""Slip profiles over time: the families of the paper's "Drift Profiles and Reported Simulation Settings"."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

import numpy as np

from replan.errors import require_numbers, require_whole
from replan.model.kernel import Array

GREATEST_SLIP = 0.6
Limits = tuple[float, float]
SLIP_LIMITS: Limits = (0.0, GREATEST_SLIP)

Burst = tuple[float, float, float]  # from and to, as fractions of the horizon, and the slope between


def linear(horizon: int, *, slip: float, rate: float, limits: Limits = SLIP_LIMITS) -> Array:
    """Return a slip that grows by the same amount every step.

    Parameters
    ----------
    horizon : int
        T.
    slip : float
        Slip at t = 0.
    rate : float
        Growth in each step.
    limits : tuple of float
        Least and greatest slip.

    Returns
    -------
    array of shape (T,)
        The slip at each time.
    """
    require_whole(horizon=horizon)
    require_numbers(slip=slip, rate=rate)
    with np.errstate(over="ignore"):  # clipped
        return np.clip(slip + rate * np.arange(horizon), *limits)


def sinusoidal(
    horizon: int, *, slip: float, amplitude: float, period: float, limits: Limits = SLIP_LIMITS
) -> Array:
    """Return a slip that swings.

    Parameters
    ----------
    horizon : int
        T.
    slip : float
        Slip about which it swings.
    amplitude : float
        Largest distance from it.
    period : float
        Steps of a whole swing.
    limits : tuple of float
        Least and greatest slip.

    Returns
    -------
    array of shape (T,)
        The slip at each time.
    """
    require_whole(horizon=horizon)
    require_numbers(slip=slip, amplitude=amplitude, period=period)
    return np.clip(slip + amplitude * np.sin(2 * np.pi * np.arange(horizon) / period), *limits)


def piecewise(
    horizon: int, *, slip: float, quiet: float, bursts: Sequence[Burst], limits: Limits = SLIP_LIMITS
) -> Array:
    """Return a slip that creeps and, within bursts, climbs.

    Parameters
    ----------
    horizon : int
        T.
    slip : float
        Slip at t = 0.
    quiet : float
        Growth in each step outside bursts.
    bursts : sequence of tuple
        Begin and end of each burst, as fractions of the horizon, and its growth in each step.
    limits : tuple of float
        Least and greatest slip.

    Returns
    -------
    array of shape (T,)
        The slip at each time.
    """
    require_whole(horizon=horizon)
    require_numbers(slip=slip, quiet=quiet)
    slopes = np.full(horizon, quiet, dtype=float)
    for (begin, end), (_, _, slope) in zip(burst_intervals(horizon, bursts), bursts, strict=True):
        slopes[begin:end] = slope
    low, high = limits
    profile = [min(max(float(slip), low), high)]
    for slope in slopes[:-1].tolist():
        profile.append(min(max(profile[-1] + slope, low), high))
    return np.array(profile)


def burst_intervals(horizon: int, bursts: Sequence[Burst]) -> list[tuple[int, int]]:
    """Return each burst as whole times [begin, end)."""
    return [(floor(begin * horizon + 1e-9), floor(end * horizon + 1e-9)) for begin, end, _ in bursts]
