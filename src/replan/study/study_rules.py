"""Rules that studies compare with others: `accumulated-value`, and rules unaware that updates take time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from replan import Context, Decision, Rule, make_rule, register
from replan.schedule.measuring_value import MeasuringValue
from replan.skip.latency import INSTANT
from replan.typing import Array, Indices


@register
@dataclass(frozen=True)
class AccumulatedValue(MeasuringValue):
    """Update when the measuring values since the last update add up to the threshold."""

    def scores(self, values: Array) -> Array:
        """(R, L) sums of the measuring values (R, L) up to each time."""
        return values.cumsum(axis=1)


@dataclass(frozen=True)
class Unaware(Rule):
    """A registered rule that decides as if every update were done in the step in which it begins.

    It is not registered itself: name it `replan.study.study_rules:Unaware` with `of` set.
    """

    of: str = "lookahead"
    """Name of the rule, which has its default parameters."""
    rule: Rule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rule = make_rule(self.of)
        for name, value in {
            "rule": rule,
            "needs": rule.needs,
            "exact_budget": rule.exact_budget,
            "weighs_the_state": rule.weighs_the_state,
        }.items():
            object.__setattr__(self, name, value)

    def decide(self, context: Context) -> Decision:
        """Decide as the rule does for updates that take no time."""
        return self.rule.decide(replace(context, latency=INSTANT))

    def updates(self, context: Context, states: Indices) -> np.ndarray | None:
        """(R,) bool, the decisions of the rule."""
        return self.rule.updates(replace(context, latency=INSTANT), states)

    def next_update(self, context: Context, states: Indices) -> Indices | Array | None:
        """(R,) times or (R, T + 1) probabilities that the rule names."""
        return self.rule.next_update(replace(context, latency=INSTANT), states)
