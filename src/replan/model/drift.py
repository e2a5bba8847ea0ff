"""Slip profiles over time: the families of the paper's "Drift Profiles and Reported Simulation Settings"."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

import numpy as np

from replan.errors import InputError, require_finite, require_whole, shown
from replan.model.kernel import Array
from replan.model.sizes import require_memory

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
    _check_horizon(horizon)
    require_finite(slip=slip, rate=rate)
    with np.errstate(over="ignore"):  # clipped
        return np.clip(slip + float(rate) * np.arange(horizon), *limits)


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
    _check_horizon(horizon)
    require_finite(slip=slip, amplitude=amplitude, period=period)
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
    _check_horizon(horizon)
    require_finite(slip=slip, quiet=quiet)
    slopes = np.full(horizon, quiet, dtype=float)
    for (begin, end), (_, _, slope) in zip(burst_intervals(horizon, bursts), bursts, strict=True):
        slopes[begin:end] = slope
    low, high = limits
    profile = [min(max(float(slip), low), high)]
    for slope in slopes[:-1].tolist():
        profile.append(min(max(profile[-1] + slope, low), high))
    return np.array(profile)


def burst_intervals(horizon: int, bursts: Sequence[Burst]) -> list[tuple[int, int]]:
    """Return each burst as whole times [begin, end). Raises `InputError` if one is not three numbers."""
    if not isinstance(bursts, Sequence) or isinstance(bursts, str):
        raise InputError(f"bursts must be a list of begin, end and growth, not {shown(bursts)}")
    for burst in bursts:
        if not isinstance(burst, Sequence) or len(burst) != 3:
            raise InputError(f"a burst is its begin, its end and its growth, not {shown(burst)}")
        require_finite(begin=burst[0], end=burst[1], growth=burst[2])
    return [(floor(begin * horizon + 1e-9), floor(end * horizon + 1e-9)) for begin, end, _ in bursts]


def _check_horizon(horizon: int) -> None:
    require_whole(horizon=horizon)
    if horizon < 1:
        raise InputError(f"horizon must be at least 1, not {horizon}")
    require_memory(4 * horizon, f"a slip over {horizon} steps")
