"""Sums of drift bounds: the greatest change of a kernel entry from one time to another."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.model.kernel import Array, Indices


def check_drift_bounds(bounds: ArrayLike, *, states: int, actions: int) -> Array:
    """Return the bounds as an array of one number, (T-1,) or (T-1, S, A), or raise `InputError`."""
    bounds = np.asarray(bounds, dtype=float)
    if bounds.ndim not in (0, 1, 3) or (bounds.ndim == 3 and bounds.shape[1:] != (states, actions)):
        raise InputError(f"drift bounds are one number, (T-1,) or (T-1, S, A), not {bounds.shape}")
    wrong = ~(np.isfinite(bounds) & (bounds >= 0))
    if wrong.any():
        step = int(np.argwhere(wrong.reshape(len(bounds), -1).any(axis=1))[0, 0]) if bounds.ndim else 0
        raise InputError(f"drift bound {step} is negative or not a number")
    return bounds


class DriftSums:
    """One bound for every step, (T-1,) bounds, or (T-1, S, A) with a bound for each pair."""

    def __init__(self, bounds: ArrayLike, *, states: int, actions: int) -> None:
        self._bounds = check_drift_bounds(bounds, states=states, actions=actions)
        self._sums = np.zeros((1, *self._bounds.shape[1:]))

    def up_to(self, time: int, state: int, action: int) -> Array:
        """(at least time + 1,) the sums from time 0 for one pair."""
        sums = self._reach(time)
        return sums if sums.ndim == 1 else np.ascontiguousarray(sums[:, state, action])

    def between(self, earlier: Indices, later: int, states: Indices, actions: Indices) -> Array:
        """(R,) greatest change of the entries of (R,) pairs since (R,) earlier times."""
        sums = self._reach(later)
        return (
            sums[later] - sums[earlier]
            if sums.ndim == 1
            else (sums[later] - sums[earlier, :, :])[np.arange(len(states)), states, actions]
        )

    def _reach(self, time: int) -> Array:
        if time >= len(self._sums):
            if self._bounds.ndim == 0:
                self._sums = self._bounds * np.arange(2 * time + 2)
            elif time <= len(self._bounds):
                self._sums = np.concatenate(
                    [np.zeros((1, *self._bounds.shape[1:])), self._bounds.cumsum(axis=0)]
                )
            else:
                raise InputError(f"t={time} lies beyond the drift bounds, which end at t={len(self._bounds)}")
        return self._sums
