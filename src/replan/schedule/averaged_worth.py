"""The candidates for the next update, weighed over several futures.

Each future has a dynamic programme of its own, in which the world moves and a robot that looks plans on what
it then sees. A candidate is worth the mean over the futures. In a future that drift bounds have revealed by
then, the robot has weighed its update anew, so there the candidate is worth as much as the best one left.

A future is solved once for all plans with which a robot may go into it. Robots that are not told the future
plan on what they see at each update, so after the next update they act alike whatever the plan in force. That
plan counts only by its actions until the next update, and most of the plans made at one time have the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from replan.forecast.base import Future
from replan.model.kernel import Array, Indices
from replan.schedule.candidate_table import Problem
from replan.schedule.update_programme import Programme, candidates_of_all, later_values

IMPOSSIBLE = -1e300  # worth of a time that is none
EQUAL = 1e-12  # values this close are tied, and the earlier time wins


@dataclass(frozen=True)
class ChosenUpdates:
    """The best next update of R robots with the same number of updates left."""

    times: Indices
    """(R,) T: none."""
    worth: Array = field(repr=False)
    """(R,) the return expected from the last update on, with it."""
    carried: Array = field(repr=False)
    """(M, R) by how much each future prefers it to the time that is best where nothing moves, weighed."""
    names: tuple[str, ...] = ()
    """(M,) of the futures."""
    candidates: Array = field(default_factory=lambda: np.empty(0), repr=False)
    """(T + 1,) the return expected with each time, of a single robot with updates left; -inf: impossible."""

    def terms(self, row: int) -> dict[str, float]:
        """Return what each future adds to the choice."""
        return {name: float(part[row]) for name, part in zip(self.names, self.carried, strict=True)}


@dataclass(frozen=True)
class Candidates:
    """Worth of every candidate for the next update, for robots that saw `states`."""

    states: Indices = field(repr=False)
    """(R,)"""
    worth: Array = field(repr=False)
    """(R, T + 1, B) with b + 1 updates left; -inf: none."""
    spent: Array = field(repr=False)
    """(R,) worth of going on without an update."""

    def only(self, states: Indices) -> Candidates:
        """Return those of some states, where they are of all."""
        return Candidates(states, self.worth[states], self.spent[states])

    @classmethod
    def of(cls, solution: Programme) -> Candidates:
        """From the solution of one future."""
        return cls(solution.states, solution.candidates(), solution.best[:, 0].copy())


@dataclass(frozen=True)
class Choices:
    """The best next updates of R robots, by updates left."""

    times: Indices
    """(R, B + 1)"""
    worth: Array = field(repr=False)
    """(R, B + 1)"""
    carried: Array | None = field(default=None, repr=False)
    """(M, R, B + 1); None with one future."""
    names: tuple[str, ...] = ()
    """(M,) names of the futures."""
    candidates: Array | None = field(default=None, repr=False)
    """(T + 1, B) worth of each candidate with b + 1 updates left, of a single robot; None for several."""

    @classmethod
    def of_candidates(cls, candidates: Candidates) -> Choices:
        """Choose the earliest of the best candidates."""
        times = _best(candidates.worth)
        best = np.take_along_axis(candidates.worth, times[:, None], axis=1)[:, 0]
        none = np.full((len(times), 1), candidates.worth.shape[1] - 1)
        return cls(
            np.hstack([none, times]),
            np.hstack([candidates.spent[:, None], best]),
            candidates=_of_one(candidates.worth),
        )

    @property
    def columns(self) -> int:
        """B + 1."""
        return self.times.shape[1]

    def of(self, rows: Indices | slice, column: int) -> ChosenUpdates:
        """Return those of some robots with so many updates left."""
        carried = np.empty((0, 0)) if self.carried is None else self.carried[:, rows, column]
        candidates = np.empty(0)
        if self.candidates is not None and column != 0:
            candidates = self.candidates[:, column - (column > 0)]
        return ChosenUpdates(
            self.times[rows, column], self.worth[rows, column], carried, self.names, candidates
        )


def best_on_average(worth: Array, futures: tuple[Future, ...], still: Candidates) -> Choices:
    """Return the candidates of (M, R, T + 1, B) `worth` that are best on average, the earliest of equal ones.

    `still` are the candidates where nothing moves.
    """
    weights = np.array([future.weight for future in futures])
    worth = np.stack([_once_revealed(*each) for each in zip(worth, futures, strict=True)])
    average = np.einsum("m,mruc->ruc", weights, np.maximum(worth, IMPOSSIBLE))
    times, instead = _best(average), _best(still.worth)
    at, there = (np.take_along_axis(worth, each[None, :, None], axis=2)[:, :, 0] for each in (times, instead))
    both = np.isfinite(at) & np.isfinite(there)
    carried = weights[:, None, None] * np.subtract(at, there, out=np.zeros_like(at), where=both)
    none = np.full((len(times), 1), worth.shape[2] - 1)
    best = np.take_along_axis(average, times[:, None], axis=1)[:, 0]
    return Choices(
        np.hstack([none, times]),
        np.hstack([still.spent[:, None], best]),
        np.concatenate([np.zeros((*carried.shape[:2], 1)), carried], axis=2),
        tuple(future.name for future in futures),
        _of_one(average),
    )


def _of_one(worth: Array) -> Array | None:
    """(T + 1, B) `Choices.candidates` from those of R robots."""
    return np.where(worth[0] > IMPOSSIBLE / 2, worth[0], -np.inf) if len(worth) == 1 else None


def _once_revealed(worth: Array, future: Future) -> Array:
    """(R, T + 1, B) worth of the candidates; once the future is revealed, that of the best one left."""
    if future.revealed is None:
        return worth
    before, after = np.split(worth, [max(future.revealed, 0)], axis=1)
    best = np.where(np.isfinite(after), after.max(axis=1, keepdims=True, initial=-np.inf), after)
    return np.concatenate([before, best], axis=1)


def _best(worth: Array) -> Indices:
    """(R, B) the first candidate of (R, T + 1, B) that is best."""
    return (worth >= worth.max(axis=1, keepdims=True) - EQUAL).argmax(axis=1)


_SOLVED: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


@dataclass(eq=False)
class SolvedFuture:
    """Values of updates after the next one, and candidates for the next one by the actions until then."""

    begin: int
    """Time of the last update."""
    budget_left: int | None
    """Updates left at most; None: no limit."""
    stride: int
    """Distance between the times at which later updates are weighed."""
    values: Array | None = field(default=None, repr=False)
    """(T + 1, S, B + 1) of later updates, once they are known."""
    known: dict[bytes, Candidates] = field(default_factory=dict, repr=False)
    """By actions."""

    def candidates(self, actions: Indices, problem: Callable[[], Problem]) -> Candidates:
        """Return the candidates of robots in every state that take (S, L) `actions` after the last update."""
        key = actions.tobytes()
        if key not in self.known:
            posed = replace(problem(), first_actions=actions)
            if self.values is None:
                self.values = later_values(posed, self.begin, self.budget_left, stride=self.stride)
            found = candidates_of_all(posed, self.begin, self.values, self.budget_left, stride=self.stride)
            self.known[key] = Candidates(*found)
        return self.known[key]


def solved_future(course: Any, key: tuple, begin: int, budget_left: int | None, stride: int) -> SolvedFuture:
    """Return the solution that is kept as long as the kernels of its `course`; `key` tells problems apart."""
    return kept_beside(course, key, lambda: SolvedFuture(begin, budget_left, stride))


def kept_beside(course: Any, key: tuple, make: Callable[[], Any]) -> Any:
    """Return what was made for a `key`, kept as long as `course`, which it must not refer to."""
    kept = _SOLVED.setdefault(course, {})
    if key not in kept:
        kept[key] = make()
    return kept[key]
