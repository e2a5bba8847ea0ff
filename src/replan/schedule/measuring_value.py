"""`measuring-value`: look when knowing the state is worth a price.

The rule of Act-Then-Measure (Krale, Simao and Jansen, ICAPS 2023). The measuring value at t is

    MV_t = E_b max_a Q(s, a) - E_b Q(s, a_t),

where Q belongs to the plan in force, b is the robot's own belief (propagated from the state seen at the last
update with the estimated kernel) and a_t is the action that the robot is about to take. The rule prices looks
and knows no budget; here it is held to one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan.errors import InputError, require_numbers
from replan.forecast.base import mean_kernel
from replan.model.kernel import Array, Indices
from replan.schedule.rule import Context, Decision, Need, Rule, register
from replan.schedule.score import TRIGGER_TOLERANCE, compared
from replan.skip.acting import make_propagation

THRESHOLDS = (0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 3.0, 5.0, 8.0)


@register
@dataclass(frozen=True)
class MeasuringValue(Rule):
    """Update when the measuring value reaches the threshold, in units of reward."""

    threshold: float = 0.1
    """The score, in units of reward, at which the rule updates."""

    needs = frozenset({Need.STATE})
    weighs_the_state = True

    def __post_init__(self) -> None:
        require_numbers(threshold=self.threshold)
        if not self.threshold > 0:
            raise InputError(f"threshold must be above 0, not {self.threshold}")

    @classmethod
    def candidates(cls) -> list[MeasuringValue]:
        """Return one rule for each threshold."""
        return [cls(threshold) for threshold in THRESHOLDS]

    def scores(self, values: Array) -> Array:
        """(R, L) scores from the measuring values (R, L) of tau, tau + 1, ..., T - 1."""
        return values

    def decide(self, context: Context) -> Decision:
        """Compare the score with the threshold."""
        scores = self.scores(_values(context, np.array([context.state])))
        score = float(scores[0, context.time - context.last_update])
        words = self.name.replace("-", " ")
        return compared(score, self.threshold, words, {words: score})

    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) first times after the last update at which the score reaches the threshold; T: never."""
        due = self.scores(_values(context, states))[:, 1:] >= self.threshold - TRIGGER_TOLERANCE
        return np.where(due.any(axis=1), context.last_update + 1 + due.argmax(axis=1), context.horizon)


def measuring_values(context: Context, states: Indices) -> Array:
    """(R, T - tau) MV of the times tau, ..., T - 1, for robots that saw `states` at the last update."""
    acting = context.propagation
    expected = mean_kernel(context.update.futures)
    believing = make_propagation("belief", context.plan, context.kernel, expected, sizes=context.sizes)
    estimate, belief = acting.begin(states), believing.begin(states)
    steps = context.horizon - context.last_update
    values, rows = np.empty((len(states), steps)), np.arange(len(states))
    for k in range(steps):
        time = context.last_update + k
        q_values, actions = context.plan.at(time).q_values, acting.act(estimate, time)
        values[:, k] = belief @ q_values.max(axis=1) - (belief @ q_values)[rows, actions]
        estimate = acting.advance(estimate, actions, time)
        belief = believing.advance(belief, actions, time)
    return values


def _values(context: Context, states: Indices) -> Array:
    """Return `measuring_values`, kept until the next update."""
    together = len(states) > 1 and context.kernel.states <= context.sizes.states_asked
    asked = np.arange(context.kernel.states) if together else np.asarray(states, dtype=np.int64)
    key = (measuring_values, context.last_update, asked.tobytes())
    if key not in context.cache:
        context.cache[key] = measuring_values(context, asked)
    return context.cache[key][states] if together else context.cache[key]
