"""Candidate times of `update_programme`, and where blind robots are at each of them after each update."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np

from replan import _loops
from replan.model.kernel import Array, Indices
from replan.model.sizes import Sizes, require_memory
from replan.skip.plan_tree import PlanTree, plan_tree
from replan.skip.propagation import Propagation
from replan.skip.segments import Segments, WorldStack, commands, walk_segments

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
    shared: range = range(0)
    """Times at which all updates have the same plan and segments."""
    tolerance: float = 0.0
    """Probabilities below this are dropped."""
    price: float = 0.0
    """Price of an update."""
    first_actions: Indices | None = field(default=None, repr=False)
    """(S, L) actions after the first update of robots that saw each state, if they are known."""
    sizes: Sizes = field(default_factory=Sizes, repr=False)
    """Sizes from which the programme is solved in parts."""

    @property
    def horizon(self) -> int:
        """T."""
        return self.along.horizon


class CandidateTable:
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
        self.tree: PlanTree | None = None  # of all states, where nothing moves

    def grow_tree(self) -> None:
        """Make the segments of all states and times at once, if nothing moves and they are few enough."""
        problem = self.problem
        most = problem.sizes.entries_in_tree
        if self.stride > 1 or len(problem.along.successors) > 1 or not most:
            return
        times = self.times if problem.first_actions is not None else [self.begin, *self.times]
        same = max(self.begin + 1, problem.shared.start)
        acting = {time: problem.acting_from(same if self._is_shared(time) else time) for time in times}
        self.tree = plan_tree(problem.along, acting, tolerance=problem.tolerance, most=most)

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
            if self._is_shared(u) and (self.row_of[seen] < 0).any():
                soon = most[u : u + SOON * self.stride] > self.problem.tolerance
                self._share(np.flatnonzero(soon.any(axis=0)), u)
            spread = np.zeros_like(most)
            for block, rows, places in self.blocks(u, seen):
                _loops.segments.reach(
                    u, rows, most[u, seen[places]], block.nodes, block.offsets, block.cells, block.masses,
                    self.candidate, spread,
                )  # fmt: skip
            np.maximum(most, spread, out=most)
        return most > self.problem.tolerance

    def solve_later(
        self,
        reached: np.ndarray,
        *,
        unlimited: bool,
        later: Indices | None = None,
    ) -> Array:
        """Return `Programme.values` of the (T + 1, S) `reached` states; fill `later` with their times."""
        columns, first = len(self.latest), int(unlimited)
        shape = (*reached.shape, columns + 1)
        require_memory(2 * prod(shape), "the value of every update time, state and budget")
        values = np.zeros(shape)
        for u in self.times[::-1] if columns else []:
            seen = np.flatnonzero(reached[u])
            value, at = self.best_next(u, seen, values, columns - 1 + first)
            values[u, seen, :-1] = value[:, first:]
            values[u, seen, -1] = 1.0
            if later is not None:
                later[u, seen] = at[:, first:]
        self.fill_in(values)
        return values

    def fill_in(self, values: Array) -> None:
        """Interpolate values at the times in between, or copy the only known neighbour."""
        if self.times:
            _loops.segments.fill_in(self.times[0], self.times[-1], self.stride, values)
        self.add_times_between()

    def add_times_between(self) -> None:
        """Make candidates of the times that the stride leaves out."""
        if self.times:
            self.candidate[self.times[0] : self.times[-1]] = True

    def candidates(self, time: int, states: Indices, values: Array, columns: int) -> Array:
        """(R, T + 1, B) value of each candidate for the next update after `time`, with b + 1 left."""
        horizon = self.problem.horizon
        found = np.full((len(states), horizon + 1, columns), -np.inf)
        for block, rows, places in self.blocks(time, states):
            worth = found[places]
            _loops.segments.candidate_values(
                time, rows, block.gained, block.nodes, block.offsets, block.cells, block.masses,
                self.candidate, self.latest, self.problem.price, values, worth,
            )  # fmt: skip
            if not self.problem.spend_all:
                worth[:, horizon] = block.gained[rows, horizon - time, None]
            found[places] = worth
        return found

    def going_on(self, time: int, states: Indices) -> Array:
        """(R,) value of no further update after `time`."""
        worth = np.empty(len(states))
        for block, rows, places in self.blocks(time, states):
            worth[places] = block.gained[rows, self.problem.horizon - time]
        return worth

    def best_next(self, time: int, states: Indices, values: Array, columns: int) -> tuple[Array, Indices]:
        """(R, columns + 1) V(time, b, s) and the next update time behind it."""
        horizon = self.problem.horizon
        best = np.full((len(states), columns + 1), -np.inf)
        chosen = np.full((len(states), columns + 1), horizon)
        for block, rows, places in self.blocks(time, states):
            best[places, 0] = block.gained[rows, horizon - time]
            if not self.problem.spend_all:
                best[places, 1:] = best[places, :1]
            self._improve(block, rows, places, time, values, best, chosen)
        return best, chosen

    def blocks(self, time: int, states: Indices) -> Iterator[tuple[Segments, Indices, Indices]]:
        """Yield blocks of segments from `time`, some of their rows, and the places of these in `states`."""
        if self.tree is not None and time in self.tree.plan_of:
            yield self.tree.segments(time), states, np.arange(len(states))
            return
        if not self._is_shared(time):
            yield from self._unshared(time, states)
            return
        self._share(states, max(self.begin + 1, self.problem.shared.start))
        first = 0
        for block in self.shared:
            rows = self.row_of[states] - first
            places = np.flatnonzero((rows >= 0) & (rows < len(block.states)))
            if len(places):
                yield block, rows[places], places
            first += len(block.states)

    def _is_shared(self, time: int) -> bool:
        return time in self.problem.shared and time != self.begin

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
        keep = np.arange(self.problem.horizon - begin + 1) % (1 if begin == self.begin else self.stride) == 0
        at_once = max(1, self.problem.sizes.entries_at_once // int(keep.sum() * self.problem.along.states))
        for first in range(0, len(states), at_once):
            part = states[first : first + at_once]
            yield walk_segments(
                self.problem.along, self._actions(begin, part), part, begin=begin, keep=keep,
                tolerance=self.problem.tolerance,
            )  # fmt: skip

    def _actions(self, begin: int, states: Indices) -> Indices:
        """(R, L) actions after an update at `begin`."""
        problem = self.problem
        if begin == self.begin and problem.first_actions is not None:
            return problem.first_actions[states]
        steps = problem.horizon - begin
        return commands(
            problem.acting_from(begin), states, begin=begin, steps=steps, tolerance=problem.tolerance
        )

    def _improve(self, block: Segments, rows, places, time: int, ahead: Array, best, chosen) -> None:
        """Raise (R, B + 1) `best` where a candidate for the next update is better."""
        value, at = best[places, 1:], chosen[places, 1:]
        if value.size:
            _loops.segments.best_next(
                time, rows, block.gained, block.nodes, block.offsets, block.cells, block.masses,
                self.candidate, self.latest, self.problem.price, ahead, value, at,
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
        likely = along.probabilities[kernel, here] > 0
        possible[t + 1, along.successors[kernel, here][likely]] = True
    return possible
