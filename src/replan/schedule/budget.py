"""Budgets and update times: exactly B distinct times in 1..T-1, the first of them 1."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from replan.errors import InputError

FIRST_UPDATE = 1


def check_budget(budget: int, horizon: int) -> int:
    """Return the budget, or raise `InputError`."""
    if not 1 <= budget <= horizon - 1:
        raise InputError(f"budget must lie between 1 and {horizon - 1} (horizon - 1), not {budget}")
    return budget


def check_times(times: Iterable[int], *, budget: int, horizon: int) -> tuple[int, ...]:
    """Return the update times as a tuple, or raise an `InputError` that names the fault."""
    times = tuple(times)
    if len(times) != budget:
        raise InputError(f"{len(times)} update times given, but the budget is {budget}")
    for t in times:
        if not 1 <= t <= horizon - 1:
            raise InputError(f"update time {t} lies outside 1 to {horizon - 1}")
    for before, after in pairwise(times):
        if after == before:
            raise InputError(f"update time {after} is repeated")
        if after < before:
            raise InputError(f"update time {after} comes after {before}: give them in order")
    if times[0] != FIRST_UPDATE:
        raise InputError(f"the first update is at 1, not {times[0]}")
    return times
