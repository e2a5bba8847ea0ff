"""Estimates the drift of a world from a log of a robot, where no bound is known.

The time is cut into windows. In each, the share of transitions that do not lead where they usually lead is
estimated with a binomial interval (Clopper and Pearson); all intervals hold at once with 95 %. That share is
1 minus one entry of the kernel, so its change from window to window, over the steps between their middles,
estimates the drift of that entry. It is an average over windows and over the states seen in them: a burst
shorter than a window is steeper, and a robot that wanders to rougher ground looks like drift.

The usual outcome is that of the same state and action where most of the log repeats its pairs, else the usual
difference of state numbers under the same action, which is one move on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from replan import Transitions
from replan.robots.logs.log_tables import RobotLog
from replan.typing import Array, Indices

CONFIDENCE = 0.95
MOST_WINDOWS = 8
LEAST_PER_WINDOW = 40
REPEATS = 5  # times that a pair must be seen for its usual outcome to be known
MOST_NUMBERS = 20_000_000  # of the kernels that are made


@dataclass(frozen=True)
class LogWindow:
    """The share of unusual transitions in an interval of time."""

    begin: int
    """First step."""
    end: int
    """Step after the last one."""
    count: int
    """Observations in the window."""
    share: float
    """Share of them that is unusual."""
    low: float
    """Lower end of the confidence interval of the share."""
    high: float
    """Upper end of the confidence interval of the share."""

    @property
    def centre(self) -> float:
        """Middle of the interval."""
        return (self.begin + self.end - 1) / 2


@dataclass(frozen=True)
class DriftRate:
    """The fastest change from one window to the next, per step."""

    rate: float
    """Estimated change per step."""
    low: float
    """Lower end of its confidence interval."""
    high: float
    """No window changed faster: a bound that can be given to rules."""


@dataclass(frozen=True)
class Usual:
    """The usual outcome of every transition, and the transitions that had another."""

    by: str
    """Either "state and action" or "difference and action"."""
    unusual: np.ndarray = field(repr=False)
    """(n,) bool: transitions that had another outcome."""
    counted: np.ndarray = field(repr=False)
    """(n,) bool: transitions whose usual outcome is known."""
    destination: Indices = field(repr=False)
    """(S, A) usual next state; -1: unknown."""


def usual_outcomes(seen: Transitions, *, states: int, actions: int) -> Usual:
    """Find the usual outcome of every transition."""
    pairs = seen.states * actions + seen.actions
    mode, count = _modes(pairs, seen.next_states, states * actions)
    repeated = count[pairs] >= REPEATS
    shifts, shift_count = _modes(seen.actions, seen.next_states - seen.states, actions)
    by_shift = seen.next_states - seen.states != shifts[seen.actions]
    moved = np.arange(states)[:, None] + shifts
    guess = np.where((moved >= 0) & (moved < states) & (shift_count > 0), moved, -1)
    known = np.where(count > 0, mode, -1).reshape(states, actions)
    if repeated.mean() < 0.6 and by_shift.mean() < 0.5:
        return Usual("difference and action", by_shift, np.ones(len(seen), dtype=bool), guess)
    counted = repeated if repeated.any() else np.ones(len(seen), dtype=bool)
    return Usual("state and action", mode[pairs] != seen.next_states, counted, known)


def windows(times: Indices, events: np.ndarray, *, last: int) -> list[LogWindow]:
    """Cut the steps 0 to last - 1 into windows of about as many observations, and count events in each."""
    count = int(np.clip(len(times) // LEAST_PER_WINDOW, 1, MOST_WINDOWS))
    inner = np.quantile(times, np.linspace(0, 1, count + 1)[1:-1], method="lower") + 1
    edges = [0, *sorted({int(edge) for edge in inner if 0 < edge < last}), last]
    found = []
    for begin, end in pairwise(edges):
        inside = (times >= begin) & (times < end)
        if inside.any():
            hits, total = int(events[inside].sum()), int(inside.sum())
            low, high = interval(hits, total, together=len(edges) - 1)
            found.append(LogWindow(begin, end, total, hits / total, low, high))
    return found


def interval(hits: int, count: int, *, together: int = 1) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a probability, one of `together` that shall all hold."""
    from scipy.special import betaincinv

    tail = (1 - CONFIDENCE) / together / 2
    low = float(betaincinv(hits, count - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, count - hits, 1 - tail)) if hits < count else 1.0
    return low, high


def drift_between(found: list[LogWindow]) -> DriftRate:
    """Return the fastest change per step and an interval for it."""
    rate = low = high = 0.0
    for one, other in pairwise(found):
        steps = other.centre - one.centre
        rate = max(rate, abs(other.share - one.share) / steps)
        low = max(low, (other.low - one.high) / steps, (one.low - other.high) / steps)
        high = max(high, (other.high - one.low) / steps, (one.high - other.low) / steps)
    return DriftRate(rate, low, min(high, 1.0))


def share_at(found: list[LogWindow], steps: Indices) -> Array:
    """Return the share at each step, in straight lines between the middles of the windows."""
    return np.interp(steps, [window.centre for window in found], [window.share for window in found])


def world_arrays(log: RobotLog, usual: Usual, found: list[LogWindow], *, goal: int) -> dict[str, np.ndarray]:
    """Return the arrays of a world file: kernels step by step, and a reward that counts moves to the goal.

    A step leads to its usual destination but for the share of unusual ones, which go to the other successors
    that its state was seen to have, as often as they were seen. A log too long for one file loses its first
    part.
    """
    states, actions = usual.destination.shape
    successors, weights = _successors(log.seen, usual.destination)
    horizon = int(np.clip(MOST_NUMBERS // (states * actions * successors.shape[1]), 2, max(log.steps, 2)))
    shares = share_at(found, np.arange(max(log.steps, 2) - horizon, max(log.steps, 2)))
    meant = successors[:, None, :] == usual.destination[:, :, None]  # (S, A, k)
    meant &= np.cumsum(meant, axis=2) == 1
    other = np.where(meant, 0.0, weights[:, None, :])
    total = other.sum(axis=2, keepdims=True)
    alone = total[..., 0] == 0  # nothing else was ever seen
    other = np.divide(other, total, out=np.zeros_like(other), where=total > 0)
    share = np.where(alone[None] | ~meant.any(axis=2)[None], 0.0, shares[:, None, None])[..., None]
    unknown = np.where(meant.any(axis=2)[..., None], meant, other)
    probabilities = (1 - share) * unknown + share * other
    moves = _moves_to(goal, successors)
    return {
        "successors": successors,
        "probabilities": probabilities,
        "rewards": -moves / 20.0,
        "start": np.array(int(log.seen.states[0])),
    }


def _modes(groups: Indices, outcomes: Indices, size: int) -> tuple[Indices, Indices]:
    """(size,) the most frequent outcome of each group, the lowest among equals; (size,) all its outcomes."""
    keys, counts = np.unique(np.column_stack([groups, outcomes]), axis=0, return_counts=True)
    order = np.lexsort((-keys[:, 1], counts))
    mode = np.zeros(size, dtype=np.int64)
    mode[keys[order, 0]] = keys[order, 1]
    return mode, np.bincount(groups, minlength=size)


def _successors(seen: Transitions, destination: Indices) -> tuple[Indices, Array]:
    """(S, k) successors of each state: seen, usual, or itself; (S, k) how often they were seen, or 1."""
    counts: list[dict[int, int]] = [{s: 1} for s in range(len(destination))]
    for s, usual in enumerate(destination):
        counts[s] |= {int(to): 1 for to in usual if to >= 0}
    for s, to in zip(seen.states.tolist(), seen.next_states.tolist(), strict=True):
        counts[s][to] = counts[s].get(to, 0) + 1
    width = max(len(part) for part in counts)
    successors = np.repeat(np.arange(len(counts))[:, None], width, axis=1)
    weights = np.zeros(successors.shape)
    for s, part in enumerate(counts):
        found = sorted(part.items())
        successors[s, : len(found)] = [to for to, _ in found]
        weights[s, : len(found)] = [count for _, count in found]
    return successors, weights


def _moves_to(goal: int, successors: Indices) -> Array:
    """(S,) moves to the goal along successors; the largest number plus 1 if there is no path."""
    moves = np.full(len(successors), np.inf)
    moves[goal] = 0
    for _ in range(len(successors)):
        nearer = np.minimum(moves, moves[successors].min(axis=1) + 1)
        if (nearer == moves).all():
            break
        moves = nearer
    known = np.isfinite(moves)
    return np.where(known, moves, moves[known].max() + 1)
