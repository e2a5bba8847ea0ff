"""One future of several, solved once for all plans with which a robot may go into it.

Robots that are not told the future plan on what they see at each update, so after the next update they act
alike whatever the plan in force. That plan counts only by its actions until the next update, and most of the
plans made at one time have the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from replan.model.kernel import Array, Indices
from replan.schedule.averaged_worth import Candidates
from replan.schedule.candidate_table import Problem
from replan.schedule.update_programme import candidates_of_all, later_values

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
