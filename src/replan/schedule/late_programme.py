"""The best next update where updates take time, by dynamic programming.

From its look at u until its arrival u + d an update leaves the old plan n in force (or the robot waits), so

    V(n, u, b, s) = sum over d of p_d W(u, d, b, s, a),

where a are the d actions that n takes from s on, and W is the value of the best next update after these
actions and then the new plan's, as in `replan.schedule.update_programme`. Plans that take the same actions
from a state share a row of W, so few rows are worked out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from replan import _loops
from replan.model.kernel import Array, Indices, Kernel
from replan.skip.latency import Latency, WaitingPropagation
from replan.skip.propagation import BeliefPropagation, MapPropagation, Propagation
from replan.skip.segments import Segments, WorldStack, commands, commands_through, walk_segments

Begun = tuple[int, int]
"""Time of an update, and the steps that it takes."""


@dataclass(frozen=True)
class LateProblem:
    """Kernels and rewards by time, and how robots act after updates that take time."""

    along: WorldStack
    """Kernels and rewards by time."""
    acting: Callable[[int, int], Propagation] = field(repr=False)
    """(time of an update, its steps) -> the propagation from its arrival on."""
    kernel_at: Callable[[int, int], Kernel] = field(repr=False)
    """(time of an update, t) -> the kernel with which its estimate is propagated at t, until it arrives."""
    latency: Latency
    """Duration of updates, and the action of robots meanwhile."""
    spend_all: bool = True
    """Whether all updates must be made."""
    price: float = 0.0
    """Price of an update."""
    tolerance: float = 0.0
    """Probabilities below this are dropped."""

    def meanwhile(self, acting: Propagation) -> Callable[[Begun], Indices]:
        """Return a function from an update to the (S, d) actions while it runs, with a plan in force."""
        if self.latency.waiting is not None:
            acting = WaitingPropagation(self.latency.waiting)
        everyone, horizon = np.arange(self.along.states), self.along.horizon

        def taken(begin: int, steps: int) -> Indices:
            return commands(acting, everyone, begin=begin, steps=steps, tolerance=self.tolerance)

        if stationary_key(acting) is not None:
            always = taken(0, self.latency.longest)  # the same at every time
            return lambda begun: always[:, : min(begun[1], horizon - begun[0])]
        return lambda begun: taken(begun[0], min(begun[1], horizon - begun[0]))


@dataclass(eq=False)
class _Rows:
    """W of one update and duration, by the state seen and the actions until the arrival."""

    index: dict[tuple[int, bytes], int] = field(default_factory=dict)
    values: Array = field(default_factory=lambda: np.empty((0, 0)))
    """(N, B) W with b updates left after this one."""
    chosen: Indices = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    """(N, B) the next update time behind it; T: none."""
    counts: Array = field(default_factory=lambda: np.empty((0, 0)))
    """(N, B) expected number of later updates."""
    of_plan: dict[Begun, Indices] = field(default_factory=dict)
    """(S,) the row of each state, by the plan in force."""

    def find(self, actions: Indices) -> tuple[Indices, Indices]:
        """(S,) rows of robots that take (S, d) actions from each state, and the states whose row is new."""
        width = actions.shape[1]
        if width:
            compact = np.ascontiguousarray(actions.astype(np.uint16))
            keys = enumerate(compact.view(f"V{2 * width}").ravel().tolist())
        else:
            keys = enumerate([b""] * len(actions))
        known, rows, new = len(self.index), np.empty(len(actions), dtype=np.int64), []
        for s, key in keys:
            rows[s] = row = self.index.setdefault((s, key), len(self.index))
            if row >= known + len(new):
                new.append(s)
        return rows, np.array(new, dtype=np.int64)


class LateProgramme:
    """Values of all updates after `begin`, on every state; the problem is given anew to every call.

    It holds neither kernels nor plans, so it may be kept beside the kernels that it was solved with.
    """

    def __init__(self, begin: int, columns: int | None, *, stride: int = 1, counts: bool = False) -> None:
        self.begin, self.stride, self.with_counts = begin, stride, counts
        self.unlimited, self.columns = columns is None, 1 if columns is None else columns
        self.rows: dict[Begun, _Rows] = {}
        self._ahead: dict[Begun, Array] = {}
        self.times: range = range(0)
        self.known: dict[bytes, tuple[Indices, Array, Array]] = {}
        """Results of `candidates`, for callers that keep them."""

    def times_of(self, horizon: int) -> range:
        """Return the times at which later updates are placed."""
        return range(self.begin + 1, horizon, self.stride)

    def solve(self, problem: LateProblem) -> LateProgramme:
        """Solve backwards in time; return self."""
        self.times = self.times_of(problem.along.horizon)
        taken_by = _TakenBy(problem)
        for u in reversed(self.times):
            plans = [
                (e, steps)
                for e in self.times
                for steps, _ in problem.latency.durations
                if e + max(steps, 1) <= u
            ]
            for steps, _ in problem.latency.durations:
                rows, states, actions = self.rows.setdefault((u, steps), _Rows()), [], []
                same: dict[object, Indices] = {}
                for plan in plans:
                    key, meanwhile = taken_by(plan)
                    if key not in same:
                        taken = meanwhile((u, steps))
                        same[key], new = rows.find(taken)
                        states.append(new)
                        actions.append(taken[new])
                    rows.of_plan[plan] = same[key]
                if plans:
                    self._extend(problem, (u, steps), np.concatenate(states), np.concatenate(actions))
        return self

    def ahead(
        self,
        problem: LateProblem,
        meanwhile: Callable[[Begun], Indices],
        earliest: int,
        *,
        part: str = "values",
    ) -> Array:
        """(T + 1, S, B + 1) V of updates from `earliest` on with another plan in force; the last column is 1.

        `meanwhile` are the (S, d) actions of that plan while an update runs (`LateProblem.meanwhile`). Times
        that the stride leaves out are interpolated. `part` may also be "counts", the expected updates.
        """

        def rows_at(begun: Begun) -> Indices:
            taken = meanwhile(begun)
            found, new = self.rows.setdefault(begun, _Rows()).find(taken)
            if len(new):
                self._extend(problem, begun, new, taken[new])
            return found

        values = self._gather(problem, rows_at, self.begin + 1, part)
        if self.times:
            _loops.segments.fill_in(self.times[0], self.times[-1], self.stride, values)
        values[:earliest] = 0.0
        return values

    def candidates(
        self, problem: LateProblem, actions: Indices, values: Array, earliest: int
    ) -> tuple[Indices, Array, Array]:
        """Return all states, (S, T + 1, B) the value of each next update, and (S,) that of going on."""
        horizon, everyone = problem.along.horizon, np.arange(problem.along.states)
        keep = np.ones(horizon - self.begin + 1, dtype=bool)
        block = walk_segments(
            problem.along, actions, everyone, begin=self.begin, keep=keep, tolerance=problem.tolerance
        )
        candidate = np.zeros(horizon + 1, dtype=bool)
        if self.times:
            candidate[max(earliest, self.times[0]) : self.times[-1] + 1] = True
        worth = np.full((len(everyone), horizon + 1, self.columns), -np.inf)
        _loops.segments.candidate_values(
            self.begin, everyone, block.gained, block.nodes, block.offsets, block.cells, block.masses,
            candidate, self._latest(problem, earliest), problem.price, values, worth,
        )  # fmt: skip
        if not problem.spend_all:
            worth[:, horizon] = block.gained[:, -1:]
        return everyone, worth, block.gained[:, -1].copy()

    def _gather(
        self, problem: LateProblem, rows_at: Callable[[Begun], Indices], first: int, part: str
    ) -> Array:
        """(T + 1, S, B + 1) V of updates from `first` on, by the rows of each; the mean over durations."""
        values = np.zeros((problem.along.horizon + 1, problem.along.states, self.columns + 1))
        for u in reversed(self.times):
            if u >= first:
                for steps, probability in problem.latency.durations:
                    rows = rows_at((u, steps))
                    values[u, :, :-1] += probability * getattr(self.rows[u, steps], part)[rows]
                values[u, :, -1] = 1.0
        return values

    def after(self, problem: LateProblem, begun: Begun, part: str = "values") -> Array:
        """(T + 1, S, B + 1) V of updates that find the plan of a solved update in force."""
        first = begun[0] + max(begun[1], 1)
        return self._gather(problem, lambda later: self.rows[later].of_plan[begun], first, part)

    def _extend(self, problem: LateProblem, begun: Begun, states: Indices, given: Indices) -> None:
        """Work out the rows of robots that take (R, d) `given` actions until the arrival."""
        (u, steps), horizon, rows = begun, problem.along.horizon, self.rows[begun]
        if begun not in self._ahead:
            self._ahead[begun] = self.after(problem, begun)
        ahead, length, first = self._ahead[begun], horizon - u, u + max(steps, 1)
        actions = given
        if steps < length:
            kernels = [problem.kernel_at(u, t) for t in range(u, u + steps)]
            actions = commands_through(
                problem.acting(u, steps), kernels, states, given, begin=u, steps=length,
                tolerance=problem.tolerance,
            )  # fmt: skip
        keep = np.arange(length + 1) % self.stride == 0
        block = walk_segments(problem.along, actions, states, begin=u, keep=keep, tolerance=problem.tolerance)
        candidate = np.zeros(horizon + 1, dtype=bool)
        candidate[[t for t in self.times if t >= first]] = True
        columns = self.columns - 1 + int(self.unlimited)
        best = np.full((len(states), columns + 1), -np.inf)
        best[:, 0] = block.gained[:, -1]
        if not problem.spend_all or not candidate.any():
            best[:, 1:] = best[:, :1]
        value, at = best[:, 1:].copy(), np.full((len(states), columns), horizon)
        if value.size:
            _loops.segments.best_next(
                u, np.arange(len(states)), block.gained, block.nodes, block.offsets, block.cells,
                block.masses, candidate, self._latest(problem, first), problem.price, ahead, value, at,
            )  # fmt: skip
        best[:, 1:] = value
        chosen = np.hstack([np.full((len(states), 1), horizon), at])
        drop = int(self.unlimited)
        rows.values = _joined(rows.values, best[:, drop:])
        rows.chosen = _joined(rows.chosen, chosen[:, drop:])
        if self.with_counts:
            later = self.after(problem, begun, "counts")
            rows.counts = _joined(rows.counts, _counted(block, chosen, later, u)[:, drop:])

    def _latest(self, problem: LateProblem, first: int) -> Indices:
        """(B,) the latest time of the next update that leaves room for c more."""
        last = self.times[-1] if self.times else -1
        if not problem.spend_all:
            return np.full(self.columns, last)
        spacing = problem.latency.spacing
        between = -(-spacing // self.stride) * self.stride
        end = max((t for t in self.times if t <= problem.along.horizon - spacing), default=last)
        return np.maximum(end - between * np.arange(self.columns), min(first, last))


def stationary_key(acting: Propagation) -> bytes | None:
    """Return what tells plans apart that act alike at all times; None for a plan that changes with time."""
    if isinstance(acting, WaitingPropagation):
        return b""
    if isinstance(acting, MapPropagation) and len(acting.policy) == 1:
        return acting.policy.tobytes() + id(acting.kernels[0]).to_bytes(8, "little")
    if isinstance(acting, BeliefPropagation) and not acting.plan.later:
        tables, kernel = acting.tables, acting.kernel_at(acting.plan.time)
        alike = tables.q_values.tobytes() + tables.preference.tobytes()
        return alike + id(kernel).to_bytes(8, "little")
    return None


class _TakenBy:
    """The actions of plans while updates run; plans that act alike share them."""

    def __init__(self, problem: LateProblem) -> None:
        self.problem = problem
        self._known: dict[Begun, tuple[object, Callable[[Begun], Indices]]] = {}
        self._same: dict[object, Callable[[Begun], Indices]] = {}

    def __call__(self, plan: Begun) -> tuple[object, Callable[[Begun], Indices]]:
        """Return a key of the plan and its actions by update."""
        if plan not in self._known:
            acting = self.problem.acting(*plan)
            waits = self.problem.latency.waiting is not None
            key = "waits" if waits else stationary_key(acting) or plan
            if key not in self._same:
                self._same[key] = self.problem.meanwhile(acting)
            self._known[plan] = key, self._same[key]
        return self._known[plan]


def _joined(before: Array, added: Array) -> Array:
    return np.concatenate([before, added]) if len(before) else added


def _counted(block: Segments, chosen: Indices, later: Array, begin: int) -> Array:
    """(R, B) expected number of updates behind the next times that were chosen."""
    counts = np.zeros(chosen.shape)
    for row, column in np.argwhere(chosen < later.shape[0] - 1):
        u = chosen[row, column]
        place = block.nodes[row, u - begin]
        here = slice(block.offsets[place], block.offsets[place + 1])
        left = min(max(column - 1, 0), later.shape[2] - 2)
        counts[row, column] = block.masses[here] @ (1.0 + later[u, block.cells[here], left])
    return counts
