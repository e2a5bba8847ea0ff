"""Placement of updates: the paper's diagnostics of Table 2, equation (precision coverage).

Intervals are whole times [begin, end). Of piecewise drift they are the configured bursts
(`replan.model.burst_intervals`), of sinusoidal drift `top_quartile_intervals`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from replan.skip.spending import FIRST_UPDATE
from replan.typing import Array

Interval = tuple[int, int]  # begin and end, the end not included

QUARTILE_TOLERANCE = 1e-12  # equal drifts of a periodic profile differ by rounding


@dataclass(frozen=True)
class Placement:
    """Counts of updates and high-drift intervals that meet, and stale drift."""

    updates: int
    """Updates after the first."""
    updates_inside: int
    """Updates after the first that lie inside an interval."""
    intervals: int
    """Intervals of high drift."""
    intervals_met: int
    """Intervals that hold such an update."""
    mean_stale_drift: float
    """Mean of `stale_drifts`."""
    max_stale_drift: float
    """Greatest of `stale_drifts`."""


def measure_placement(times: Sequence[int], drift_bounds: Array, intervals: Sequence[Interval]) -> Placement:
    """Return the diagnostics of one schedule."""
    later = [t for t in times if t != FIRST_UPDATE]
    inside = [any(begin <= t < end for begin, end in intervals) for t in later]
    met = [any(begin <= t < end for t in later) for begin, end in intervals]
    stale = stale_drifts(times, drift_bounds)
    return Placement(
        len(later), sum(inside), len(intervals), sum(met), float(stale.mean()), float(stale.max())
    )


def stale_drifts(times: Sequence[int], drift_bounds: Array) -> Array:
    """(T-2,) of t = 2..T-1: the sum of epsilon from tau - 1 to t - 1, tau the last update before t itself.

    Before the first update it counts from epsilon_0: the plan of t = 0 rests on P_0, as after an update at 1.
    """
    total = np.concatenate([[0.0], np.cumsum(drift_bounds)])
    t = np.arange(2, len(drift_bounds) + 1)
    begun = np.array([FIRST_UPDATE, *times])
    tau = begun[np.searchsorted(begun, t, side="left") - 1]
    return total[t] - total[tau - 1]


def top_quartile_intervals(drift_bounds: Array) -> list[Interval]:
    """Return the contiguous intervals in which epsilon_t is in its top quartile and above its median.

    The median matters where most steps drift alike, or not at all: then the third quartile is their drift.
    """
    median, quartile = np.quantile(drift_bounds, [0.5, 0.75])
    high = (drift_bounds >= quartile - QUARTILE_TOLERANCE) & (drift_bounds > median + QUARTILE_TOLERANCE)
    return _intervals(high)


def fast_drift_intervals(drift_bounds: Array) -> list[Interval]:
    """Return the contiguous intervals in which the world changes at least half as fast as at its fastest.

    None where that is everywhere, or the world does not change.
    """
    fast = drift_bounds >= max(float(drift_bounds.max()) / 2, QUARTILE_TOLERANCE)
    return [] if fast.all() else _intervals(fast)


def _intervals(chosen: Array) -> list[Interval]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]])))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]
