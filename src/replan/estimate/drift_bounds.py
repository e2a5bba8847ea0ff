"""Drift bounds epsilon_t: their sums, bounds found online, and deliberately wrong ones for studies.

Online, the skip interval before each update yields a confidence interval for the average slip in it.
From one interval to the next the average has then moved by no more than the distance of their far ends;
taken to move at an even pace, that bounds every step in between. Steps not yet seen get the greatest bound
so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError, read_array
from replan.estimate.estimator import Estimator, Learned, Observation
from replan.estimate.slip_evidence import CONFIDENCE, NO_EVIDENCE, ParameterEstimate, SlipModel, stretches
from replan.model.kernel import Array, Indices, Kernel
from replan.model.slip import SlipKernel
from replan.model.world import LARGEST_BOUND


def check_drift_bounds(bounds: ArrayLike, *, states: int, actions: int) -> Array:
    """Return the bounds as an array of one number, (T-1,) or (T-1, S, A), or raise `InputError`."""
    bounds = read_array("drift bounds", bounds)
    if bounds.ndim not in (0, 1, 3) or (bounds.ndim == 3 and bounds.shape[1:] != (states, actions)):
        raise InputError(f"drift bounds are one number, (T-1,) or (T-1, S, A), not {bounds.shape}")
    wrong = ~(np.isfinite(bounds) & (bounds >= 0))
    if wrong.any():
        step = int(np.argwhere(wrong.reshape(len(bounds), -1).any(axis=1))[0, 0]) if bounds.ndim else 0
        raise InputError(f"drift bound {step} is negative or not a number")
    if bounds.max(initial=0.0) > LARGEST_BOUND:
        raise InputError(f"a drift bound is {bounds.max():g}: probabilities change by 1 at most")
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


class OnlineDriftBounds:
    """Bounds on the drift of a slip kernel, all of them true at once with the stated confidence.

    Interval j gets the share 1 / (j (j + 1)) of the allowed error, which adds up to 1 over any number of
    updates.

    Parameters
    ----------
    nominal : SlipKernel
        The grid and its slip law.
    horizon : int
        T, the number of steps of the mission.
    confidence : float
        Probability with which all bounds hold.
    initial : float
        Bound of every step until two whole intervals have been seen.
    """

    def __init__(
        self, nominal: SlipKernel, horizon: int, *, confidence: float = CONFIDENCE, initial: float = 1.0
    ) -> None:
        if not 0 < confidence < 1:
            raise InputError(f"confidence must lie between 0 and 1, not {confidence}")
        if not 0 <= initial <= 1:
            raise InputError(f"initial must lie between 0 and 1, not {initial}")
        self.nominal, self.horizon, self.confidence, self.initial = nominal, horizon, confidence, initial
        self._model = SlipModel(nominal)
        self._steepness = float(nominal.steepness().max())
        self._last: tuple[int, int] | None = None
        self.averages: list[ParameterEstimate] = []  # of each interval, `time` being its last step
        self.centres: list[float] = []  # the mean time of each interval

    def observe(self, seen: Observation) -> Array:
        """Learn from an update and return the bounds as they now stand."""
        last, self._last = self._last, (seen.time, seen.state)
        if last is not None and seen.time > last[0]:
            self._learn(last, seen)
        return self.bounds()

    def bounds(self) -> Array:
        """(T-1,) bounds on each step's change of a kernel entry, as rules and certificates take them."""
        bounds = np.full(self.horizon - 1, self.initial)
        if len(self.centres) < 2:
            return bounds
        low = np.array([average.low for average in self.averages])
        high = np.array([average.high for average in self.averages])
        moved = np.maximum(high[1:] - low[:-1], high[:-1] - low[1:])
        rates = np.minimum(self._steepness * moved / np.diff(self.centres), 1.0)
        step = np.arange(self.horizon - 1) + 0.5
        gap = np.searchsorted(self.centres, step) - 1
        bounds = rates[np.clip(gap, 0, len(rates) - 1)]
        bounds[step > self.centres[-1]] = rates.max()
        return bounds

    def _learn(self, last: tuple[int, int], seen: Observation) -> None:
        """Add the slip of the interval since `last`, taken as one number, unless no slip explains it."""
        steps = seen.time - last[0]
        if len(seen.commanded) < steps:
            raise InputError(f"t={seen.time}: {len(seen.commanded)} commanded actions for {steps} steps")
        profile, still = NO_EVIDENCE, np.zeros(self.horizon + 1)
        for stretch in stretches(last, seen):
            evidence = None if stretch is None else self._model.evidence(stretch)
            if evidence is not None:
                profile = profile.add(evidence, still)
            elif stretch is not None:
                return
        j = len(self.averages) + 1
        confidence = 1 - (1 - self.confidence) / (j * (j + 1))
        prior = float(np.mean(self.nominal.slip))
        self.averages.append(profile.at(seen.time - 1, still, prior=prior, confidence=confidence))
        self.centres.append((last[0] + seen.time - 1) / 2)


def too_small(bounds: ArrayLike, factor: float = 4.0) -> Array:
    """Return bounds `factor` times too small."""
    return np.asarray(bounds, dtype=float) / factor


def too_large(bounds: ArrayLike, factor: float = 4.0) -> Array:
    """Return bounds `factor` times too large, at most 1, by which an entry can change."""
    return np.minimum(np.asarray(bounds, dtype=float) * factor, 1.0)


def shifted(bounds: ArrayLike, steps: int = 10) -> Array:
    """Return bounds `steps` late (early if negative), wrapped around at the end of the horizon."""
    return np.roll(np.asarray(bounds, dtype=float), steps)


MISSPECIFICATIONS: Mapping[str, Callable[[ArrayLike], Array]] = {
    "too-small": too_small,
    "too-large": too_large,
    "shifted": shifted,
}


class WithOnlineBounds:
    """An estimator that is made anew at every update with the bounds found by then, and learns from all.

    `make` takes (T-1,) drift bounds, `online` makes an `OnlineDriftBounds` that has seen nothing.
    """

    def __init__(self, make: Callable[[Array], Estimator], online: Callable[[], OnlineDriftBounds]) -> None:
        self.make, self.online = make, online
        make(online().bounds())  # compiles or loads what updates need

    def begin(self) -> Learned:
        """Return no observations; -1 stands for what an observation does not show."""
        return {"observations": np.empty((0, 5), dtype=np.int64), "commanded": np.empty(0, dtype=np.int64)}

    def estimate(self, learned: Learned, seen: Observation) -> tuple[Learned, Kernel]:
        """Learn the bounds, then the kernel, from all observations."""
        shown = [-1 if each is None else each for each in (seen.previous_state, seen.previous_action)]
        row = [seen.time, seen.state, *shown, len(seen.commanded)]
        rows = np.vstack([learned["observations"], row])
        commanded = np.concatenate([learned["commanded"], np.array(seen.commanded, dtype=np.int64)])
        ends, everything = rows[:, 4].cumsum(), []
        for (time, state, *before, steps), end in zip(rows.tolist(), ends.tolist(), strict=True):
            commands = tuple(commanded[end - steps : end].tolist())
            previous, action = (None if each < 0 else each for each in before)
            everything.append(Observation(time, state, previous, action, commands))
        online = self.online()
        bounds = [online.observe(each) for each in everything][-1]
        estimator = self.make(bounds)
        inner, kernel = estimator.begin(), None
        for each in everything:
            inner, kernel = estimator.estimate(inner, each)
        assert kernel is not None
        return {"observations": rows, "commanded": commanded}, kernel
