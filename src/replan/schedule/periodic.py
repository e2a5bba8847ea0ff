"""`periodic`, `even` and `best-offset`: updates at equal distances, whatever the drift.

`periodic` is the paper's Per., rounded linspace(1, T-1, B), and `best-offset` its Per.-BO, equation (periodic
offset). `even` is what one would do by hand: the last update of `periodic` comes at T - 1, where it is worth
next to nothing, and to a robot that sees where it is one at 1 is worth nothing either.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from replan.errors import InputError
from replan.schedule.rule import Context, Decision, Need, Rule, register


@lru_cache(maxsize=64)
def periodic_times(horizon: int, budget: int) -> tuple[int, ...]:
    """Return the B rounded times."""
    return tuple(int(t) for t in np.round(np.linspace(1, horizon - 1, budget)))


def holds_time(times: Sequence[int], context: Context) -> bool:
    """Return whether one of ascending update times is now, or passed while an update was running."""
    place = bisect_right(times, context.time)
    if place and times[place - 1] == context.time:
        return True
    return context.spending.spacing > 1 and place > context.budget - context.budget_left


@lru_cache(maxsize=64)
def even_times(horizon: int, budget: int, *, sees: bool = False) -> tuple[int, ...]:
    """Return 1 + rint(k (T - 1) / B), k = 0..B-1; rint(linspace(0, T, B + 2)[1:-1]) for a robot that sees."""
    if sees:
        times = np.rint(np.linspace(0, horizon, budget + 2)[1:-1])
    else:
        times = 1 + np.rint(np.arange(budget) * (horizon - 1) / budget)
    return tuple(int(t) for t in times)


@dataclass(frozen=True)
class Schedule(Rule):
    """Base class of rules whose update times follow from the horizon and the budget."""

    needs = frozenset({Need.BUDGET})
    words: ClassVar[str] = "one of the evenly spaced times"

    @abstractmethod
    def times(self, horizon: int, budget: int, *, sees: bool = False) -> tuple[int, ...]:
        """Return the B update times, of a robot that sees its state or of one that does not."""

    def decide(self, context: Context) -> Decision:
        """Update if the time is one of them."""
        sees = context.execution == "localised"
        due = holds_time(self.times(context.horizon, context.budget, sees=sees), context)
        return Decision(due, f"{context.time} is {'' if due else 'not '}{self.words}")


@register
@dataclass(frozen=True)
class Periodic(Schedule):
    """Uniform spacings, whatever the drift."""

    exact_budget = True
    words = "one of the periodic times"

    def times(self, horizon: int, budget: int, *, sees: bool = False) -> tuple[int, ...]:
        """Return rint(linspace(1, T-1, B))."""
        return periodic_times(horizon, budget)


@register
@dataclass(frozen=True)
class Even(Schedule):
    """B times that split the horizon into equal parts, the first of a blind robot at 1."""

    def times(self, horizon: int, budget: int, *, sees: bool = False) -> tuple[int, ...]:
        """Return the times of `even_times`."""
        return even_times(horizon, budget, sees=sees)


def offset_period(horizon: int, budget: int) -> int:
    """Return q = floor((T-2) / (B-1)), or 0 for B = 1."""
    return 0 if budget == 1 else (horizon - 2) // (budget - 1)


@lru_cache(maxsize=4096)
def offset_times(horizon: int, budget: int, offset: int, period: int | None = None) -> tuple[int, ...]:
    """Return 1 and 1 + o + kq, filled with the latest unused times or truncated to the first B."""
    period = offset_period(horizon, budget) if period is None else period
    if budget == 1:
        return (1,)
    times = set(sorted({1, *range(1 + offset, horizon, period)})[:budget])
    unused = (t for t in range(horizon - 1, 0, -1) if t not in times)
    return tuple(sorted([*times, *(next(unused) for _ in range(budget - len(times)))]))


def offset_candidates(horizon: int, budget: int) -> dict[int, tuple[int, ...]]:
    """Return the paper's schedules by offset: 1..q, and the uniform one as 0. Equal ones appear once."""
    offsets = {periodic_times(horizon, budget): 0}
    for offset in range(1, offset_period(horizon, budget) + 1):
        offsets.setdefault(offset_times(horizon, budget, offset), offset)
    return {offset: times for times, offset in offsets.items()}


@register
@dataclass(frozen=True)
class BestOffset(Schedule):
    """A period begun `offset` steps after the first update; offset 0 is the uniform schedule itself."""

    offset: int = 0
    """Steps by which the period begins after the first update."""
    period: int | None = None
    """q, steps between updates; None: the paper's."""

    exact_budget = True
    words = "one of the times of the offset"

    def __post_init__(self) -> None:
        if self.offset < 0:
            raise InputError(f"offset must not be negative, not {self.offset}")
        if self.period is not None and self.period < 1:
            raise InputError(f"period must be at least 1, not {self.period}")

    def times(self, horizon: int, budget: int, *, sees: bool = False) -> tuple[int, ...]:
        """Return the B update times."""
        if self.offset == 0:
            return periodic_times(horizon, budget)
        return offset_times(horizon, budget, self.offset, self.period)
