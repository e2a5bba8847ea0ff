"""Ways to spend updates: exactly a budget (the paper's), at most a budget, or a price for each.

This file settles what is left, what is forced and what is refused. Update times lie in 1..T-1. Without a
price the first update is at 1. Updates that take time do not overlap: the next one begins at the earliest
when the last one has arrived.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from numbers import Real
from operator import index
from typing import Any

from replan.errors import InputError, require, shown

FIRST_UPDATE = 1


@dataclass(frozen=True)
class Spending:
    """The number of updates that a mission may make, and the cost of each.

    Use `Spending.exactly`, `Spending.at_most` or `Spending.at_price`. Raises `InputError` if there is neither
    a limit nor a price, or one of them is out of range.

    Examples
    --------
    >>> Spending.at_price(0.05, limit=3)
    Spending(limit=3, exact=False, price=0.05)
    """

    limit: int | None = None
    """The most updates that can be made, B; None: as many as there are steps, at a price."""
    exact: bool = False
    """Whether all of the limit must be spent; not with a price."""
    price: float | None = None
    """Price of an update in units of reward. With a price no update is forced, the first one neither."""
    opening: bool = field(default=True, repr=False)
    """Whether the first update of a budget is at 1 whatever the rule says: not for robots that see."""
    spacing: int = field(default=1, repr=False)
    """The most steps for which an update keeps the robot from beginning another: its mission sets it."""

    def __post_init__(self) -> None:
        if self.limit is None and self.price is None:
            raise InputError("a mission needs a budget or a price")
        if self.limit is not None:
            object.__setattr__(self, "limit", whole(self.limit, "budget"))
            if self.limit < 1:
                raise InputError(f"budget must be at least 1, not {self.limit}")
        if self.price is not None:
            if not (
                isinstance(self.price, Real) and not isinstance(self.price, bool) and 0 <= self.price < inf
            ):
                raise InputError(f"the price of an update must be a number of at least 0, not {self.price!r}")
            object.__setattr__(self, "price", float(self.price))
        require(bool, exact=self.exact, opening=self.opening)
        if whole(self.spacing, "spacing") < 1:
            raise InputError(f"spacing must be at least 1, not {self.spacing}")
        if self.exact and (self.limit is None or self.price is not None):
            raise InputError("only a budget without a price can be spent exactly")

    @classmethod
    def exactly(cls, budget: int) -> Spending:
        """Return the paper's way: B updates, no more and no less."""
        return cls(budget, exact=True)

    @classmethod
    def at_most(cls, budget: int) -> Spending:
        """Return a budget of which some may be left over."""
        return cls(budget)

    @classmethod
    def at_price(cls, price: float, *, limit: int | None = None) -> Spending:
        """Return a price for each update, with or without a limit."""
        return cls(limit, price=price)

    def as_budget(self, budget: int) -> Spending:
        """Return the same way to spend another budget, without a price; a price becomes an exact budget."""
        exact = self.exact or self.price is not None
        return Spending(budget, exact=exact, opening=self.opening, spacing=self.spacing)

    def unforced(self) -> Spending:
        """Return the same limit and price with nothing forced."""
        return replace(self, exact=False, opening=False)

    def spaced(self, spacing: int) -> Spending:
        """Return the same way to spend for updates that begin at least `spacing` steps apart."""
        return self if spacing == self.spacing else replace(self, spacing=spacing)

    @property
    def first_is_forced(self) -> bool:
        """Whether the first update is at 1 whatever the rule says."""
        return self.opening and self.price is None

    def most(self, horizon: int) -> int:
        """Return the most updates that can be made in T steps. Raises `InputError` if the limit is larger."""
        if self.limit is None:
            return horizon - 1
        if self.limit > horizon - 1:
            raise InputError(f"budget must lie between 1 and {horizon - 1} (horizon - 1), not {self.limit}")
        return self.limit

    def room(self, horizon: int) -> int:
        """Return how many of the update times 1, 1 + spacing, ... are below T."""
        return (horizon - 2) // self.spacing + 1

    def require_room(self, horizon: int) -> None:
        """Raise `InputError` if a budget that is spent exactly does not fit into T steps."""
        if self.exact and (fitting := self.room(horizon)) < self.most(horizon):
            raise InputError(
                f"budget {self.limit} does not fit: updates of {self.spacing} steps leave room for {fitting} "
                f"in {horizon} steps"
            )

    def required_limit(self) -> int:
        """Return the budget. Raises `InputError` if there is a price."""
        if self.limit is None or self.price is not None:
            raise InputError("this needs a budget, without a price")
        return self.limit

    def latest(self, left: int, horizon: int) -> int:
        """Return the latest time of the next update with `left` to spend; T if none is needed."""
        return horizon - left * self.spacing if self.exact else horizon

    def forces(self, left: int, steps: int) -> bool:
        """Return whether an update must be made now, with `left` to spend and `steps` to go."""
        return self.exact and left * self.spacing >= steps

    def refusal(
        self, *, left: int, time: int, last_update: int, horizon: int, arrival: int = 0
    ) -> str | None:
        """Return why no update can be made now, or None if it can. The last one arrives at `arrival`."""
        if left == 0:
            return "the budget is spent"
        if not FIRST_UPDATE <= time < horizon:
            return "updates begin at 1 and end with the horizon"
        if last_update == time:
            return "updated at this time already"
        return "an update is running" if time < arrival else None

    def paid(self, updates: float) -> float:
        """Return the price of a number of updates."""
        return (self.price or 0.0) * updates

    def check_times(self, times: Iterable[int], horizon: int) -> tuple[int, ...]:
        """Return update times as a tuple. Raises an `InputError` that names the first fault."""
        times = whole_numbers(times)
        most = self.most(horizon)
        least = most if self.exact else int(self.first_is_forced)
        if not least <= len(times) <= most:
            raise InputError(f"{len(times)} update times given, but the budget is {most}")
        for before, after in pairwise((0, *times)):
            if not 1 <= after <= horizon - 1:
                raise InputError(f"update time {after} lies outside 1 to {horizon - 1}")
            if after == before:
                raise InputError(f"update time {after} is repeated")
            if after < before:
                raise InputError(f"update time {after} comes after {before}: give them in order")
        if self.first_is_forced and times[0] != FIRST_UPDATE:
            raise InputError(f"the first update is at 1, not {times[0]}")
        return times


def whole_numbers(times: Any) -> tuple[int, ...]:
    """Return update times as plain ints. Raises `InputError` for anything else."""
    try:
        listed = None if isinstance(times, (str, bytes)) else tuple(times)
    except TypeError:
        listed = None
    if listed is None:
        raise InputError(f"update times must be a list of whole numbers, not {shown(times)}")
    return tuple(whole(t, "an update time") for t in listed)


def whole(number: Any, name: str) -> int:
    """Return a whole number as an int. Raises `InputError` for anything else."""
    try:
        if not isinstance(number, bool):
            return index(number)
    except TypeError:
        pass
    raise InputError(f"{name} must be a whole number, not {shown(number)}")
