"""`random`: the first update at 1, the others drawn uniformly from the later times (the paper's Rand.)."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import ClassVar

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array
from replan.model.streams import RULE, uniforms
from replan.schedule.rule import Context, Decision, Knowledge


@dataclass(frozen=True)
class Random:
    """Uniform over all schedules of B updates. A seed fixes one; without it there is a law alone."""

    seed: int | None = None

    name: ClassVar[str] = "random"
    knows: ClassVar[Knowledge] = "nothing"
    uses_state: ClassVar[bool] = False
    paced: ClassVar[bool] = False

    def with_seed(self, seed: int) -> DrawnTimes:
        """The one schedule of its own seed, or of the given one where it has none."""
        return DrawnTimes(seed if self.seed is None else self.seed)

    def decide(self, context: Context) -> Decision:
        """What the schedule of the seed says."""
        if self.seed is None:
            raise InputError("random draws its times from a seed: give one, as in seed=0")
        return DrawnTimes(self.seed).decide(context)

    def next_update_law(self, context: Context) -> Array:
        """(T + 1,) the law of the least of b uniformly drawn times; for a seed, certainty."""
        tau, T, b = context.last_update, context.horizon, context.budget_left
        law = np.zeros(T + 1)
        if self.seed is None:
            law[tau + 1 : T] = [comb(T - 1 - t, b - 1) / comb(T - 1 - tau, b) for t in range(tau + 1, T)]
        else:
            law[DrawnTimes(self.seed).next_update(context)] = 1.0
        return law


@dataclass(frozen=True)
class DrawnTimes:
    """The schedule of one seed. Taking t with probability b_t / (T - t) makes every subset equally likely."""

    seed: int

    name: ClassVar[str] = "random"
    knows: ClassVar[Knowledge] = "nothing"
    uses_state: ClassVar[bool] = False
    paced: ClassVar[bool] = False

    def next_update(self, context: Context) -> int:
        """The first time whose number falls below its probability, which is 1 once none can be left out."""
        times = np.arange(context.last_update + 1, context.horizon)
        taken = uniforms(self.seed, times, RULE) * (context.horizon - times) < context.budget_left
        return int(times[np.argmax(taken)])

    def decide(self, context: Context) -> Decision:
        """Whether the number of this time falls below its probability."""
        left, steps = context.budget_left, context.horizon - context.time
        draw = float(uniforms(self.seed, context.time, RULE))
        due = draw * steps < left
        return Decision(due, f"drew {draw:.4g}, {'below' if due else 'not below'} {left} of {steps} steps")

    explain = decide
