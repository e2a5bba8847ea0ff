"""The best next update, by dynamic programming over (update time, updates left, state).

V(tau, b, s) = max over u of gained_u(s) - price + sum over s' of D_u(s, s') V(u, b - 1, s'), where from an
update at tau in s a blind robot gains gained_u(s) until u and is then at s' with probability D_u(s, s').
V(tau, 0, s) is what it gains by the end of the horizon. Where updates have a price and no limit, V does not
depend on b. The look-ahead rule solves this in its forecast, and
`replan.evaluation.optimal_schedule` in the world itself.

With a tolerance, masses below it are dropped from every D, and states that no update sees with at least this
probability are left out; what remains is scaled up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from replan import _loops
from replan.model.kernel import Array, Indices
from replan.schedule.candidate_table import CandidateTable, Problem


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
    table: CandidateTable = field(repr=False)
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
                time, rows, weights[places], block.nodes, block.offsets, block.cells, block.masses,
                self.table.candidate, spread,
            )  # fmt: skip
        return np.asarray(gained), spread

    def candidates(self) -> Array:
        """(R, T + 1, B) value of each candidate for the next update, with b + 1 left; -inf: none."""
        return self.table.candidates(self.table.begin, self.states, self.values, self.best.shape[1] - 1)


def solve(
    problem: Problem,
    begin: int,
    states: Indices,
    budget_left: int | None,
    *,
    stride: int = 1,
    with_later: bool = False,
) -> Programme:
    """Return the best next update after one at `begin`, for every number of updates left up to `budget_left`.

    With a `stride`, later updates are placed only at every so many times from begin + 1 on, and values in
    between are interpolated, so that the next update can still be at any time. `budget_left` None sets no
    limit; then there is one column, the last one.
    """
    states = np.asarray(states, dtype=np.int64)
    columns = 1 if budget_left is None else budget_left
    table = CandidateTable(problem, begin, stride, columns)
    if len(states) == problem.along.states:
        table.grow_tree()
    reached = table.reached(states)
    later = np.full((*reached.shape, columns), problem.horizon) if with_later else None
    values = table.solve_later(reached, unlimited=budget_left is None, later=later)
    best, chosen = table.best_next(begin, states, values, columns)
    return Programme(states, chosen, best, values, table, later)


def solve_between(problem: Problem, begin: int, values: Array, budget_left: int) -> Programme:
    """Return the best next update after one at `begin`, where going on has (T + 1, S, B + 1) `values`."""
    everyone = np.arange(problem.along.states)
    table = CandidateTable(problem, begin, 1, budget_left)
    best, chosen = table.best_next(begin, everyone, values, budget_left)
    return Programme(everyone, chosen, best, values, table, None)


def later_values(problem: Problem, begin: int, budget_left: int | None, *, stride: int) -> Array:
    """(T + 1, S, B + 1) `Programme.values` of later updates, for robots that saw any state at `begin`."""
    table = CandidateTable(problem, begin, stride, 1 if budget_left is None else budget_left)
    table.grow_tree()
    shape = (problem.horizon + 1, problem.along.states)
    return table.solve_later(np.ones(shape, dtype=bool), unlimited=budget_left is None)


def candidates_of_all(
    problem: Problem, begin: int, values: Array, budget_left: int | None, *, stride: int
) -> tuple[Indices, Array, Array]:
    """Return all states, (S, T + 1, B) `Programme.candidates` given `later_values`, and (S,) going on."""
    everyone = np.arange(problem.along.states)
    columns = 1 if budget_left is None else budget_left
    table = CandidateTable(problem, begin, stride, columns)
    table.add_times_between()
    return everyone, table.candidates(begin, everyone, values, columns), table.going_on(begin, everyone)


def candidates_on_average(
    problems: Sequence[Problem],
    weights: Sequence[float],
    begin: int,
    states: Indices,
    budget_left: int | None,
    *,
    stride: int,
    values: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Return (R, T + 1, B) candidates, (R,) going on and (T + 1, S, B + 1) values of later updates.

    Robots are never told the future: every time after the first, too, is the best one on average over the
    problems, by the state seen then:
    V(tau, b, s) = max over u of the weighted mean of gained_u(s) - price + sum over s' of D_u(s, s')
    V(u, b - 1, s'). `values` are those of later updates, where they are known.
    """
    columns = 1 if budget_left is None else budget_left
    tables = [CandidateTable(problem, begin, stride, columns) for problem in problems]
    if values is None:
        values = _later_values_on_average(tables, weights, states, unlimited=budget_left is None)
    for table in tables:
        table.add_times_between()
    worth = _mean(weights, (table.candidates(begin, states, values, columns) for table in tables))
    return worth, _mean(weights, (table.going_on(begin, states) for table in tables)), values


def _later_values_on_average(
    tables: Sequence[CandidateTable], weights: Sequence[float], states: Indices, *, unlimited: bool
) -> Array:
    columns, first = len(tables[0].latest), int(unlimited)
    reached = np.any([table.reached(states) for table in tables], axis=0)
    values = np.zeros((*reached.shape, columns + 1))
    for u in tables[0].times[::-1] if columns else []:
        seen = np.flatnonzero(reached[u])
        more = _mean(weights, (table.candidates(u, seen, values, columns - 1 + first) for table in tables))
        spent = _mean(weights, (table.going_on(u, seen) for table in tables))
        values[u, seen, :-1] = np.column_stack([spent, more.max(axis=1)])[:, first:]
        values[u, seen, -1] = 1.0
    tables[0].fill_in(values)
    return values


def _mean(weights: Sequence[float], parts: Iterable[Array]) -> Array:
    return np.sum([weight * part for weight, part in zip(weights, parts, strict=True)], axis=0)
