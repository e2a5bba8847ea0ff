"""Likelihood of the present slip from all evidence so far, with bounded drift in between.

The slip of each stretch of evidence is represented by its average over the stretch, and two averages differ
by at most the difference of the averaged drift sums. The profile is the greatest log-likelihood over all
paths of the slip that end at a given one: a dynamic programme over stretches, on a grid of slips.

The interval keeps every slip whose profile is within log(2 / alpha) of the best. For single transitions and
a slip that stays the same this is Chernoff's bound, P(n KL(observed rate, true rate) >= x) <= 2 exp(-x),
and holds for every number of observations; with drift and for whole intervals its coverage is measured
(docs/estimation.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan.estimate.slip_evidence import CELLS, GRID, SlipEvidence
from replan.model.kernel import Array

CONFIDENCE = 0.95


@dataclass(frozen=True)
class SlipEstimate:
    """The most likely slip at `time` and an interval that holds it with probability `confidence`."""

    time: int
    """t."""
    slip: float
    """Most likely slip."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""
    confidence: float = CONFIDENCE
    """Probability that the interval holds the slip."""

    @property
    def width(self) -> float:
        """Width of the interval."""
        return self.high - self.low


@dataclass(frozen=True)
class SlipProfile:
    """Profile likelihood of the slip after some evidence."""

    values: Array
    """(G,) log-likelihood of the best path that ends at each slip of the grid."""
    centre: float | None = None
    """Place of the last stretch, in drift summed from time 0; None: no evidence yet."""

    def add(self, evidence: SlipEvidence, drift: Array) -> SlipProfile:
        """Add a stretch; drift (T,) sums the bounds on the slip's change from time 0."""
        centre = float(drift[evidence.times].mean())
        moved = 0.0 if self.centre is None else abs(centre - self.centre)
        return SlipProfile(_spread(self.values, moved) + evidence.profile, centre)

    def at(self, time: int, drift: Array, *, prior: float, confidence: float = CONFIDENCE) -> SlipEstimate:
        """Return the slip at a time after the evidence; of equally likely ones the nearest to `prior`."""
        if self.centre is None:
            return SlipEstimate(time, prior, 0.0, 1.0, confidence)
        profile = _spread(self.values, drift[time] - self.centre)
        kept = np.flatnonzero(profile >= profile.max() - np.log(2 / (1 - confidence)))
        best = np.flatnonzero(profile >= profile.max() - 1e-9)
        half = 0.5 / CELLS
        slip = float(np.clip(prior, GRID[best[0]], GRID[best[-1]]))
        return SlipEstimate(time, slip, float(GRID[kept[0]] - half), float(GRID[kept[-1]] + half), confidence)


NO_EVIDENCE = SlipProfile(np.zeros(CELLS))


def _spread(values: Array, distance: float) -> Array:
    """(G,) the greatest value within `distance`, rounded up to whole cells."""
    cells = min(int(np.ceil(distance * CELLS - 1e-9)), CELLS)
    if cells <= 0:
        return values
    padded = np.concatenate([np.full(cells, -np.inf), values, np.full(cells, -np.inf)])
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * cells + 1).max(axis=1)
