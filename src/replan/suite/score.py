"""Scores of a rule over worlds, and their aggregates with intervals.

The score of a world and execution is (even - regret) / (even - floor): 0 at the rule `even`, 1 at the
best feedback schedule of a robot that expects no change. Aggregates follow Agarwal et al., "Deep
reinforcement learning at the edge of the statistical precipice" (NeurIPS 2021): interquartile mean, median
and performance profile, with bootstrap intervals. Worlds are resampled, all executions of a world together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from replan.suite.catalogue import EXECUTIONS, SuiteWorld
from replan.suite.families import FAMILIES
from replan.typing import Array, Execution, Indices

CONFIDENCE = 0.95
RESAMPLES = 1000
WORSE = 1e-6
"""A score below the negative of this is worse than even spacing; rounding of regrets stays above it."""
THRESHOLDS = np.round(np.arange(-1.0, 1.2001, 0.02), 2)
"""(K,) scores at which performance profiles are drawn."""

Regrets = Mapping[tuple[str, Execution], float]
"""Exact regret by world and execution."""


@dataclass(frozen=True)
class Statistic:
    """A statistic of scores with its bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True)
class Summary:
    """Aggregates of scores over worlds."""

    scored: int
    """Pairs of world and execution that have a score."""
    iqm: Statistic
    """Mean of the middle half of the scores."""
    median: Statistic
    worst_tenth: Statistic
    """Mean of the lowest tenth of the scores."""
    worse: Statistic
    """Share of scores below 0: worse than even spacing."""


def score_matrix(
    worlds: Sequence[SuiteWorld], regrets: Regrets, executions: Sequence[Execution] = EXECUTIONS
) -> Array:
    """Compute the scores of regrets on worlds of the suite, to 6 decimals.

    Parameters
    ----------
    worlds : sequence of SuiteWorld
        The worlds of the rows.
    regrets : mapping
        Regret by the name of a world and the execution.
    executions : sequence of str
        The executions of the columns.

    Returns
    -------
    ndarray
        (W, E) scores; NaN for a world that is not scored, or has no regret.
    """
    found = [
        [world.score(kind, regrets.get((world.name, kind), nan)) for kind in executions] for world in worlds
    ]
    return np.round(np.array(found, dtype=float).reshape(len(worlds), len(executions)), 6) + 0.0


def world_groups(worlds: Sequence[SuiteWorld]) -> dict[str, Indices]:
    """Return the positions of all worlds, of the generated ones, and of each family, by name."""
    families = np.array([world.family for world in worlds])
    together = {"all": np.arange(len(worlds)), "drawn": np.flatnonzero(np.isin(families, list(FAMILIES)))}
    return together | {name: np.flatnonzero(families == name) for name in dict.fromkeys(families.tolist())}


def summarise(scores: Array) -> Summary | None:
    """Compute the aggregates of scores.

    Parameters
    ----------
    scores : ndarray
        (W, E) scores, from `score_matrix`.

    Returns
    -------
    Summary or None
        The aggregates; None if nothing is scored.
    """
    scores = scores[np.isfinite(scores).any(axis=1)]
    if not len(scores):
        return None
    values = _statistics(scores.reshape(-1))
    low, high = _intervals(scores) if len(scores) > 1 else (values, values)
    estimates = [Statistic(*(float(x) for x in found)) for found in zip(values, low, high, strict=True)]
    return Summary(int(np.isfinite(scores).sum()), *estimates)


def mean_score(scores: Array) -> float:
    """Return the mean of the scores that exist."""
    return float(np.nanmean(scores))


def performance_profile(scores: Array, thresholds: Array = THRESHOLDS) -> Array:
    """(K,) share of scores that reach each of (K,) thresholds."""
    found = scores[np.isfinite(scores)]
    return (found[:, None] >= thresholds - WORSE).mean(axis=0)


def _intervals(scores: Array) -> tuple[Array, Array]:
    from scipy.stats import bootstrap

    def resampled(rows: Indices, axis: int) -> Array:
        drawn = scores[np.moveaxis(rows, axis, -1)]
        return _statistics(drawn.reshape(*drawn.shape[:-2], -1))

    interval = bootstrap(
        (np.arange(len(scores)),),
        resampled,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(0),
    ).confidence_interval
    return interval.low, interval.high


def _statistics(scores: Array) -> Array:
    """(4, ...) interquartile mean, median, worst tenth and share below 0 of the last axis; NaN left out."""
    ordered = np.sort(scores, axis=-1)  # NaN last
    count = np.isfinite(ordered).sum(axis=-1)
    zeros = np.zeros((*ordered.shape[:-1], 1))
    sums = np.concatenate([zeros, np.nancumsum(ordered, axis=-1)], axis=-1)  # (..., n + 1) lowest 0, 1, ...

    def mean(first: Indices, last: Indices) -> Array:
        ends = [np.take_along_axis(sums, at[..., None], axis=-1)[..., 0] for at in (first, last)]
        return (ends[1] - ends[0]) / (last - first)

    quarter, zero = count // 4, np.zeros_like(count)
    return np.stack(
        [
            mean(quarter, count - quarter),
            mean((count - 1) // 2, count // 2 + 1),
            mean(zero, -(-count // 10)),
            (scores < -WORSE).sum(axis=-1) / count,
        ]
    )
