"""Update times given in advance, and `front-loaded`, `back-loaded` and `random`.

The three are the paper's Front, Back and Rand. Front is {1..B}: the paper's {1..B-1} has one update too few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from replan.model.kernel import Array, Indices
from replan.schedule.periodic import holds_time
from replan.schedule.rule import Context, Decision, Need, Rule, register
from replan.skip.spending import whole_numbers


@dataclass(frozen=True)
class FixedTimes(Rule):
    """Update at given times, in ascending order."""

    times: tuple[int, ...]

    name = "fixed"

    def __init__(self, times: Sequence[int]) -> None:
        object.__setattr__(self, "times", whole_numbers(times))

    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) the first of the times after the last update; one that passed meanwhile is made up for."""
        first = context.earliest_update
        if first < context.horizon and holds_time(self.times, replace(context, time=first)):
            return np.full(len(states), first)
        time = next((t for t in self.times if t > context.last_update), context.horizon)
        return np.full(len(states), time)

    def decide(self, context: Context) -> Decision:
        """Update if the time is one of them."""
        due = holds_time(self.times, context)
        return Decision(due, f"{context.time} is {'' if due else 'not '}an update time")


@register
@dataclass(frozen=True)
class FrontLoaded(Rule):
    """{1, ..., B}."""

    name = "front-loaded"
    exact_budget = True
    needs = frozenset({Need.BUDGET})

    def decide(self, context: Context) -> Decision:
        """Update at once, as long as the budget lasts."""
        return Decision(True, f"{context.time} is among the first {context.budget} times")


@register
@dataclass(frozen=True)
class BackLoaded(Rule):
    """{1, T-B+1, ..., T-1}."""

    name = "back-loaded"
    exact_budget = True
    needs = frozenset({Need.BUDGET})

    def decide(self, context: Context) -> Decision:
        """Update if only as many steps are left as updates."""
        last = context.budget - 1
        due = context.time >= context.horizon - last
        return Decision(due, f"{context.time} is {'' if due else 'not '}among the last {last} times")


@register
@dataclass(frozen=True)
class Random(Rule):
    """Every schedule of B updates is equally likely."""

    name = "random"
    exact_budget = True
    needs = frozenset({Need.BUDGET})

    def next_update(self, context: Context, states: Indices) -> Array:
        """(R, T + 1) probability that t is the least of b times drawn from those after the last update."""
        tau, T, b = context.last_update, context.horizon, context.budget_left
        chances = np.zeros(T + 1)
        later = T - 1 - np.arange(tau + 1, T)  # of each time
        skipped = np.cumprod(np.maximum(later - b + 1, 0) / np.maximum(later, 1))
        chances[tau + 1 : T] = b / (T - 1 - tau) * np.concatenate([[1.0], skipped[:-1]])
        return np.broadcast_to(chances, (len(states), T + 1))

    def decide(self, context: Context) -> Decision:
        """Explain a time that was drawn at the last update."""
        return Decision(True, f"drawn, {context.budget_left} of {context.horizon - context.time} times left")
