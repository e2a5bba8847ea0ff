"""The best next update, by dynamic programming over (update time, updates left, state).

V(tau, b, s) = max over u of gained_u(s) - price + sum over s' of D_u(s, s') V(u, b - 1, s'), where from an
update at tau in s a blind robot gains gained_u(s) until u and is then at s' with probability D_u(s, s').
V(tau, 0, s) is what it gains by the end of the horizon. Where updates have a price and no limit, V does not
depend on b. The look-ahead rule solves this in its forecast, and
`replan.evaluation.optimal_schedule` in the world itself.

With a tolerance, masses below it are dropped from every D, and states that no update sees with at least this
probability are left out; what remains is scaled up. `Programme.error` bounds what that can change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np

from replan import _loops
from replan.model.kernel import Array, Indices
from replan.model.sizes import Sizes, require_memory
from replan.skip.propagation import Propagation
from replan.skip.segments import Segments, WorldStack, walk_segments

SOON = 8  # candidate times whose states get their shared segments together, since every call costs


@dataclass(frozen=True)
class Problem:
    """Kernels and rewards by time, and how robots act after an update at each time."""

    along: WorldStack
    """Kernels and rewards by time."""
    acting_from: Callable[[int], Propagation] = field(repr=False)
    """Time of an update -> the propagation after it."""
    spend_all: bool = True
    """Whether all updates must be made."""
    shared_until: int = -1
    """Last time up to which all updates have the same plan and segments; -1: none."""
    tolerance: float = 0.0
    """Probabilities below this are dropped."""
    price: float = 0.0
    """Price of an update."""
    sizes: Sizes = field(default_factory=Sizes, repr=False)
    """Sizes from which the programme is solved in parts."""

    @property
    def horizon(self) -> int:
        """T."""
        return self.along.horizon


@dataclass(frozen=True)
class Programme:
    """The solution of a problem from one update on."""

    states: Indices
    """(R,) states seen at the update."""
    next_times: Indices = field(repr=False)
    """(R, B + 1) best next update with b left; T: none. Without a limit the last column holds it."""
    best: Array = field(repr=False)
    """(R, B + 1) value of the best next update."""
    values: Array = field(repr=False)
    """(T + 1, S, B + 1) V of later updates; the last column is 1 where V is known."""
    error: Array | None = field(repr=False)
    """(R, B + 1) bound on the error of `best`; None where it was not asked for."""
    table: _Table = field(repr=False)
    """The segments that the programme was solved with."""
    later: Indices | None = field(default=None, repr=False)
    """(T + 1, S, B) best next updates after later ones; None where they were not asked for."""

    def onward(self, time: int, mass: Array) -> tuple[Array, Array]:
        """(L + 1,) gains of robots that update at `time` where `mass` is, and (T + 1, S) where they go.

        Mass on states that were left out is spread over the others.
        """
        seen = self.states if time == self.table.begin else np.flatnonzero(self.values[time, :, -1])
        weights = mass[seen] / mass[seen].sum()
        gained, spread = 0.0, np.zeros(self.values.shape[:2])
        for block, rows, places in self.table.blocks(time, seen):
            gained = gained + weights[places] @ block.gained[rows, : self.table.problem.horizon - time + 1]
            _loops.segments.reach(
                time, rows, weights[places], block.steps, block.offsets, block.cells, block.masses,
                self.table.candidate, spread,
            )  # fmt: skip
        return np.asarray(gained), spread

    def candidates(self) -> Array:
        """(R, T + 1, B) value of each candidate for the next update, with b + 1 left; -inf: none."""
        table, horizon = self.table, self.table.problem.horizon
        found = np.full((len(self.states), horizon + 1, self.best.shape[1] - 1), -np.inf)
        for block, rows, places in table.blocks(table.begin, self.states):
            worth = found[places]
            _loops.segments.candidate_values(
                table.begin, rows, block.gained, block.offsets, block.cells, block.masses,
                table.candidate, table.latest, table.problem.price, self.values, worth,
            )  # fmt: skip
            if not table.problem.spend_all:
                worth[:, horizon] = block.gained[rows, -1:]
            found[places] = worth
        return found


def solve(
    problem: Problem,
    begin: int,
    states: Indices,
    budget_left: int | None,
    *,
    stride: int = 1,
    with_error: bool = False,
    with_later: bool = False,
) -> Programme:
    """Return the best next update after one at `begin`, for every number of updates left up to `budget_left`.

    With a `stride`, later updates are placed only at every so many times from begin + 1 on, and values in
    between are interpolated, so that the next update can still be at any time. `with_error` asks for a bound
    on what pruning changes: it holds for `map` execution (a pruned belief can also choose another action),
    without a price. `budget_left` None sets no limit; then there is one column, the last one.
    """
    states = np.asarray(states, dtype=np.int64)
    columns, unlimited = 1 if budget_left is None else budget_left, int(budget_left is None)
    table = _Table(problem, begin, stride, columns)
    reached = table.reached(states)
    shape = (problem.horizon + 1, problem.along.states, columns + 1)
    require_memory(2 * prod(shape), "the value of every update time, state and budget")
    values = np.zeros(shape)
    errors = _unknown_errors(problem, values.shape) if with_error else None
    later = np.full((*shape[:2], columns), problem.horizon) if with_later else None
    for u in table.times[::-1] if columns else []:
        seen = np.flatnonzero(reached[u])
        value, at = table.best_next(u, seen, values, columns - 1 + unlimited)
        values[u, seen, :-1] = value[:, unlimited:]
        values[u, seen, -1] = 1.0
        if later is not None:
            later[u, seen] = at[:, unlimited:]
        if errors is not None:
            errors[u, seen, :-1] = table.errors(u, seen, errors, columns - 1)
    table.fill_in(values)
    best, chosen = table.best_next(begin, states, values, columns)
    error = None if errors is None else table.errors(begin, states, errors, columns)
    return Programme(states, chosen, best, values, error, table, later)


def solve_between(problem: Problem, begin: int, values: Array, budget_left: int) -> Programme:
    """Return the best next update after one at `begin`, where going on has (T + 1, S, B + 1) `values`."""
    everyone = np.arange(problem.along.states)
    table = _Table(problem, begin, 1, budget_left)
    table.room = 0
    best, chosen = table.best_next(begin, everyone, values, budget_left)
    return Programme(everyone, chosen, best, values, None, table, None)


class _Table:
    """Candidate times and the segments from each, shared where they are the same."""

    def __init__(self, problem: Problem, begin: int, stride: int, budget_left: int) -> None:
        self.problem, self.begin, self.stride = problem, begin, stride
        self.times = list(range(begin + 1, problem.horizon, stride))
        self.candidate = np.zeros(problem.horizon + 1, dtype=bool)
        self.candidate[self.times] = True
        self.latest = np.full(
            budget_left, self.times[-1] if self.times else -1
        )  # (B,) that leaves room for c more
        if problem.spend_all:
            room = self.times[::-1][:budget_left]
            self.latest[:] = [*room, *[-1] * (budget_left - len(room))]
        self.shared: list[Segments] = []
        self.row_of = np.full(problem.along.states, -1)  # (S,) row in the shared blocks, counted through
        self.kept: dict[int, tuple[Indices, list[Segments]]] = {}  # of other times, as long as there is room
        self.room = problem.sizes.entries_kept

    def reached(self, states: Indices) -> np.ndarray:
        """(T + 1, S) whether an update at that time can see that state, with more than the tolerance."""
        size = self.problem.along.states
        if len(states) == size:
            return np.ones((self.problem.horizon + 1, size), dtype=bool)
        if self.problem.tolerance == 0.0:
            return _possible(self.problem.along, self.begin, states)
        most = np.zeros(
            (self.problem.horizon + 1, size)
        )  # the probability of seeing it, had all looks been fixed
        most[self.begin, states] = 1.0
        for u in [self.begin, *self.times]:
            seen = np.flatnonzero(most[u] > self.problem.tolerance)
            if self.begin < u <= self.problem.shared_until and (self.row_of[seen] < 0).any():
                soon = most[u : u + SOON * self.stride] > self.problem.tolerance
                self._share(np.flatnonzero(soon.any(axis=0)), u)
            spread = np.zeros_like(most)
            for block, rows, places in self.blocks(u, seen):
                _loops.segments.reach(
                    u, rows, most[u, seen[places]], block.steps, block.offsets, block.cells, block.masses,
                    self.candidate, spread,
                )  # fmt: skip
            np.maximum(most, spread, out=most)
        return most > self.problem.tolerance

    def fill_in(self, values: Array) -> None:
        """Make candidates of the times in between: interpolate values, or take the one that is known."""
        if self.times:
            _loops.segments.fill_in(self.times[0], self.times[-1], self.stride, values)
            self.candidate[self.times[0] : self.times[-1]] = True

    def best_next(self, time: int, states: Indices, values: Array, columns: int) -> tuple[Array, Indices]:
        """(R, columns + 1) V(time, b, s) and the next update time behind it."""
        horizon = self.problem.horizon
        best = np.full((len(states), columns + 1), -np.inf)
        chosen = np.full((len(states), columns + 1), horizon)
        for block, rows, places in self.blocks(time, states):
            best[places, 0] = block.gained[rows, horizon - time]
            if not self.problem.spend_all:
                best[places, 1:] = best[places, :1]
            self._improve(block, rows, places, time, block.gained, values, best, chosen)
        return best, chosen

    def errors(self, time: int, states: Indices, errors: Array, columns: int) -> Array:
        """(R, columns + 1) by how much V(time, b, s) can be wrong."""
        ranges = self.problem.along.reward_range
        still = np.concatenate([np.cumsum(ranges[::-1])[::-1], [0.0]])  # (T + 1,) span of any value from t on
        worst = np.zeros((len(states), columns + 1))
        chosen = np.zeros((len(states), columns + 1), dtype=np.int64)
        for block, rows, places in self.blocks(time, states):
            steps = self.problem.horizon - time
            lost = block.lost[:, : steps + 1]
            missed = np.zeros_like(block.lost)
            missed[:, 1 : steps + 1] = np.cumsum(lost[:, 1:] * ranges[time:], axis=1)
            missed[:, : steps + 1] += lost * still[time:]
            worst[places, 0] = missed[rows, steps]
            self._improve(block, rows, places, time, missed, errors, worst, chosen)
        return worst

    def blocks(self, time: int, states: Indices) -> Iterator[tuple[Segments, Indices, Indices]]:
        """Yield blocks of segments from `time`, some of their rows, and the places of these in `states`."""
        if time > self.problem.shared_until or time == self.begin:
            yield from self._unshared(time, states)
            return
        self._share(states, self.begin + 1)
        first = 0
        for block in self.shared:
            rows = self.row_of[states] - first
            places = np.flatnonzero((rows >= 0) & (rows < len(block.states)))
            if len(places):
                yield block, rows[places], places
            first += len(block.states)

    def _unshared(self, time: int, states: Indices) -> Iterator[tuple[Segments, Indices, Indices]]:
        known, made = self.kept.get(time, (states[:0], []))
        if not np.array_equal(known, states):
            made = self._make(time, states)
            if self.room > 0:
                made = list(made)
                self.kept[time] = states, made
                self.room -= sum(len(block.cells) for block in made)
        yield from _in_order(made)

    def _share(self, states: Indices, begin: int) -> None:
        """Make those shared segments of `states` that are missing, for updates from `begin` on."""
        missing = states[self.row_of[states] < 0]
        if len(missing):
            self.row_of[missing] = sum(len(block.states) for block in self.shared) + np.arange(len(missing))
            self.shared += self._make(begin, missing)

    def _make(self, begin: int, states: Indices) -> Iterator[Segments]:
        propagation = self.problem.acting_from(begin)
        keep = np.arange(self.problem.horizon - begin + 1) % (1 if begin == self.begin else self.stride) == 0
        at_once = max(1, self.problem.sizes.entries_at_once // int(keep.sum() * self.problem.along.states))
        for first in range(0, len(states), at_once):
            yield walk_segments(
                self.problem.along, propagation, states[first : first + at_once], begin=begin, keep=keep,
                tolerance=self.problem.tolerance,
            )  # fmt: skip

    def _improve(
        self, block: Segments, rows, places, time: int, gained: Array, ahead: Array, best, chosen
    ) -> None:
        """Raise (R, B + 1) `best` where a candidate for the next update is better."""
        value, at = best[places, 1:], chosen[places, 1:]
        if value.size:
            _loops.segments.best_next(
                time, rows, gained, block.offsets, block.cells, block.masses, self.candidate, self.latest,
                self.problem.price, ahead, value, at,
            )  # fmt: skip
            best[places, 1:], chosen[places, 1:] = value, at


def _in_order(blocks: Iterable[Segments]) -> Iterator[tuple[Segments, Indices, Indices]]:
    """Yield blocks with all of their rows, and the places of these counted through."""
    first = 0
    for block in blocks:
        yield block, np.arange(len(block.states)), np.arange(first, first + len(block.states))
        first += len(block.states)


def _possible(along: WorldStack, begin: int, states: Indices) -> np.ndarray:
    """(T + 1, S) whether any actions lead there."""
    possible = np.zeros((along.horizon + 1, along.states), dtype=bool)
    possible[begin, states] = True
    for t in range(begin, along.horizon):
        here, kernel = np.flatnonzero(possible[t]), along.kernel_of[t]
        likely = (along.probabilities[kernel, here] > 0).any(axis=1)
        possible[t + 1, along.successors[kernel, here][likely]] = True
    return possible


def _unknown_errors(problem: Problem, shape: tuple[int, ...]) -> Array:
    """(T + 1, S, B + 1) errors of unknown values: their whole span. The last column is 1, as in `values`."""
    spans = np.concatenate([np.cumsum(problem.along.reward_range[::-1])[::-1], [0.0]])
    errors = np.broadcast_to(spans[:, None, None], shape).copy()
    errors[:, :, -1] = 1.0
    return errors
