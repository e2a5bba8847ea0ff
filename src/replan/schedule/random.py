"""`random`: the first update at 1, the others drawn uniformly from the later times (the paper's Rand.)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan.model.kernel import Array, Indices
from replan.schedule.rule import Context, Decision, Need, Rule, register


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
