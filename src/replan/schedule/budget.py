"""Budgets, prices and update times: without prices exactly B distinct times of 1..T-1, 1 among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntFlag
from itertools import pairwise
from math import inf
from typing import Any

from replan.errors import InputError

FIRST_UPDATE = 1


class Kind(IntFlag):
    """Parts of an update: a look shows the state, a plan makes estimate, forecast and policy."""

    LOOK = 1
    PLAN = 2
    BOTH = 3


def forced_parts(looks_left: int, plans_left: int, steps: int) -> Kind:
    """Return the parts of an update of which as many are left as steps."""
    return Kind((looks_left >= steps) * Kind.LOOK + (plans_left >= steps) * Kind.PLAN)


@dataclass(frozen=True)
class Prices:
    """Prices of a look and of a plan in units of reward. An update is both.

    With prices a mission has as many updates as its rule makes, none of them forced; a budget is a limit.
    """

    look: float = 0.0
    """Price of a look."""
    plan: float = 0.0
    """Price of a plan."""
    apart: bool = field(default=False, repr=False)
    """Whether the optimum weighs looks and plans apart; otherwise it makes updates that are both."""

    def __post_init__(self) -> None:
        for name, price in (("look", self.look), ("plan", self.plan)):
            if not 0 <= price < inf:
                raise InputError(f"the price of a {name} must be a number of at least 0, not {price}")

    @property
    def update(self) -> float:
        """Price of a look and a plan together."""
        return self.look + self.plan

    def paid(self, looks: Any, plans: Any) -> Any:
        """Return the price of so many looks and plans."""
        return self.look * looks + self.plan * plans


def check_budget(
    budget: int | None, horizon: int, prices: Prices | None = None, *, name: str = "budget"
) -> int:
    """Return the most updates that can be made. Raises `InputError` without a budget and prices."""
    if budget is None:
        if prices is None:
            raise InputError("a mission needs a budget or a price")
        return horizon - 1
    if not 1 <= budget <= horizon - 1:
        raise InputError(f"{name} must lie between 1 and {horizon - 1} (horizon - 1), not {budget}")
    return budget


def check_budgets(
    budget: int | None, horizon: int, *, prices: Prices | None, looks: int | None, plans: int | None
) -> tuple[int, int]:
    """Return the most looks and the most plans that can be made, or raise `InputError`."""
    if looks is None and plans is None:
        most = check_budget(budget, horizon, prices)
        return most, most
    if looks is None or plans is None or budget is not None:
        raise InputError("looks and plans are two budgets: give both, and no other budget")
    return check_budget(looks, horizon, name="looks"), check_budget(plans, horizon, name="plans")


def check_times(
    times: Iterable[int], *, budget: int, horizon: int, at_most: bool = False, first_at_1: bool = True
) -> tuple[int, ...]:
    """Return the update times as a tuple, or raise an `InputError` that names the fault.

    With `at_most` the budget is a limit; without `first_at_1` the first update is at any time, or missing.
    """
    times = tuple(times)
    least = int(first_at_1) if at_most else budget
    if not least <= len(times) <= budget:
        raise InputError(f"{len(times)} update times given, but the budget is {budget}")
    for t in times:
        if not 1 <= t <= horizon - 1:
            raise InputError(f"update time {t} lies outside 1 to {horizon - 1}")
    for before, after in pairwise(times):
        if after == before:
            raise InputError(f"update time {after} is repeated")
        if after < before:
            raise InputError(f"update time {after} comes after {before}: give them in order")
    if first_at_1 and times[0] != FIRST_UPDATE:
        raise InputError(f"the first update is at 1, not {times[0]}")
    return times
