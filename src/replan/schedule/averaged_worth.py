"""What each candidate for the next update is worth, averaged over several futures.

The programme is solved in full where the world stays as it is. In a future that moves, a candidate u is worth
what the robot gains until u there, plus V*_u(s) - L(u, b, s) where it then is: the oracle's value in that
future, less what a robot with b updates left loses against the oracle where nothing moves. One walk and one
backward pass for each future take the place of a programme.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from replan.forecast.base import Future
from replan.model.kernel import Array, Indices, Kernel
from replan.model.tvmdp import constant
from replan.schedule.rule import Context
from replan.schedule.update_programme import Programme
from replan.skip.segments import stack_world

IMPOSSIBLE = -1e300  # worth of a time that is none
EQUAL = 1e-12  # values this close are tied, and the earlier time wins


@dataclass(frozen=True)
class Choice:
    """The best next update of R robots with the same number of updates left."""

    times: Indices
    """(R,) T: none."""
    worth: Array = field(repr=False)
    """(R,) the return expected from the last update on, with it."""
    carried: Array = field(repr=False)
    """(M, R) by how much each future prefers it to the time that is best where nothing moves, weighed."""
    names: tuple[str, ...] = ()
    """(M,) of the futures."""

    def terms(self, row: int) -> dict[str, float]:
        """Return what each future adds to the choice."""
        return {name: float(part[row]) for name, part in zip(self.names, self.carried, strict=True)}


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

    @property
    def columns(self) -> int:
        """B + 1."""
        return self.times.shape[1]

    def of(self, rows: Indices | slice, column: int) -> Choice:
        """Return those of some robots with so many updates left."""
        carried = np.empty((0, 0)) if self.carried is None else self.carried[:, rows, column]
        return Choice(self.times[rows, column], self.worth[rows, column], carried, self.names)


def best_on_average(worth: Array, futures: tuple[Future, ...], still: Programme, horizon: int) -> Choices:
    """Return the candidates of (M, R, T + 1, B) `worth` that are best on average, the earliest of equal ones.

    `still` is the solution where nothing moves.
    """
    weights = np.array([future.weight for future in futures])
    average = np.einsum("m,mruc->ruc", weights, np.maximum(worth, IMPOSSIBLE))
    times, instead = _best(average), _best(still.candidates())
    at, there = (np.take_along_axis(worth, each[None, :, None], axis=2)[:, :, 0] for each in (times, instead))
    both = np.isfinite(at) & np.isfinite(there)
    carried = weights[:, None, None] * np.subtract(at, there, out=np.zeros_like(at), where=both)
    none, spent = np.full((len(times), 1), horizon), still.best[:, :1]
    best = np.take_along_axis(average, times[:, None], axis=1)[:, 0]
    return Choices(
        np.hstack([none, times]),
        np.hstack([spent, best]),
        np.concatenate([np.zeros((*carried.shape[:2], 1)), carried], axis=2),
        tuple(future.name for future in futures),
    )


def _best(worth: Array) -> Indices:
    """(R, B) the first candidate of (R, T + 1, B) that is best."""
    return (worth >= worth.max(axis=1, keepdims=True) - EQUAL).argmax(axis=1)


def worth_by_future(context: Context, futures: tuple[Future, ...], still: Programme) -> Array:
    """(M, R, T + 1, B) worth of each candidate in each future; `still`: the solution where nothing moves."""
    lost = _values(context, constant(context.kernel))[:, :, None] - still.values[:, :, :-1]
    return np.stack(
        [
            still.candidates() if _stays(future, context) else _in_future(context, future, still, lost)
            for future in futures
        ]
    )


def _stays(future: Future, context: Context) -> bool:
    return all(future.kernel(t) is context.kernel for t in (context.last_update, context.horizon - 1))


def _in_future(context: Context, future: Future, still: Programme, lost: Array) -> Array:
    along = stack_world(future.kernel, context.reward, first=context.last_update, horizon=context.horizon)
    values = still.values.copy()
    values[:, :, :-1] = _values(context, future.kernel)[:, :, None] - lost
    return still.candidates(along, values)


def _values(context: Context, kernel: Callable[[int], Kernel]) -> Array:
    """(T + 1, S) V* of the times from the last update on."""
    values = np.zeros((context.horizon + 1, context.kernel.states))
    for t in range(context.horizon - 1, context.last_update, -1):
        context.reward(t).backup(kernel(t), values[t + 1], out=values[t])
    return values
