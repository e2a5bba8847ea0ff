"""Slip profiles over time, and bounds epsilon_t on the change of a kernel in one step.

The three families are those of the paper's "Drift Profiles and Reported Simulation Settings".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor

import numpy as np

from replan.model.family import KernelFamily
from replan.model.kernel import Array, Kernel
from replan.model.slip import SlipKernel

GREATEST_SLIP = 0.6
Limits = tuple[float, float]
SLIP_LIMITS: Limits = (0.0, GREATEST_SLIP)

Burst = tuple[float, float, float]  # from and to, as fractions of the horizon, and the slope between


def linear(horizon: int, *, slip: float, rate: float, limits: Limits = SLIP_LIMITS) -> Array:
    """(T,) slip that grows by `rate` every step."""
    return np.clip(slip + rate * np.arange(horizon), *limits)


def sinusoidal(
    horizon: int, *, slip: float, amplitude: float, period: float, limits: Limits = SLIP_LIMITS
) -> Array:
    """(T,) slip that swings about `slip`."""
    return np.clip(slip + amplitude * np.sin(2 * np.pi * np.arange(horizon) / period), *limits)


def piecewise(
    horizon: int, *, slip: float, quiet: float, bursts: Sequence[Burst], limits: Limits = SLIP_LIMITS
) -> Array:
    """(T,) slip that creeps by `quiet` and, within bursts, climbs by their slope."""
    slopes = np.full(horizon, quiet, dtype=float)
    for (begin, end), (_, _, slope) in zip(burst_intervals(horizon, bursts), bursts, strict=True):
        slopes[begin:end] = slope
    low, high = limits
    profile = [min(max(float(slip), low), high)]
    for slope in slopes[:-1].tolist():
        profile.append(min(max(profile[-1] + slope, low), high))
    return np.array(profile)


def burst_intervals(horizon: int, bursts: Sequence[Burst]) -> list[tuple[int, int]]:
    """Each burst as whole times [begin, end)."""
    return [(floor(begin * horizon + 1e-9), floor(end * horizon + 1e-9)) for begin, end, _ in bursts]


def drift_bounds(kernel: Callable[[int], Kernel], horizon: int) -> Array:
    """(T-1,) epsilon_t, the largest entrywise change from P_t to P_{t+1}."""
    bounds = np.zeros(horizon - 1)
    now, steepness = kernel(0), None
    for t in range(horizon - 1):
        following = kernel(t + 1)
        if following is not now:
            if (change := _slip_change(now, following)) is None:
                bounds[t], steepness = now.entrywise_distance(following).max(), None
            else:
                steepness = _steepness(now) if steepness is None else steepness
                bounds[t] = change * steepness
        now = following
    return bounds


def _slip_change(now: Kernel, following: Kernel) -> float | None:
    """Return the change of the slip, if that is all that changes and it is the same in all cells."""
    if not isinstance(now, SlipKernel) or not isinstance(following, SlipKernel):
        return None
    if now.slip.size > 1 or following.slip.size > 1 or not now.differs_in_slip_alone(following):
        return None
    return abs(float(following.slip[0]) - float(now.slip[0]))


def _steepness(kernel: Kernel) -> float:
    """Return the largest change of an entry for a unit change of the slip of all cells."""
    return float(KernelFamily.of_one_slip(kernel).steepness().max())  # pyright: ignore[reportArgumentType]


def local_drift_bounds(kernel: Callable[[int], Kernel], horizon: int) -> Array:
    """(T-1, S, A) the largest entrywise change of each state and action; its maximum is epsilon_t."""
    now = kernel(0)
    bounds = np.zeros((horizon - 1, now.states, now.actions))
    for t in range(horizon - 1):
        following = kernel(t + 1)
        if following is not now:
            bounds[t] = now.entrywise_distance(following)
        now = following
    return bounds
