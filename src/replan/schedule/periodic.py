"""`periodic`: updates at uniform spacings, rounded linspace(1, T-1, B) (the paper's Per.)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan.schedule.rule import Context, Decision, Rule


def periodic_times(horizon: int, budget: int) -> tuple[int, ...]:
    """The B rounded times."""
    return tuple(int(t) for t in np.round(np.linspace(1, horizon - 1, budget)))


@dataclass(frozen=True)
class Periodic(Rule):
    """Uniform spacings, whatever the drift."""

    name = "periodic"

    def decide(self, context: Context) -> Decision:
        """Update if the time is one of them."""
        due = context.time in periodic_times(context.horizon, context.budget)
        return Decision(due, f"{context.time} is {'' if due else 'not '}on the uniform raster")
