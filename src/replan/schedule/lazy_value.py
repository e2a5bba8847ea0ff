"""`lazy-value`: update when the drift matters to the plan in use (the paper's Lazy, eq. (lazy score))."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan.model.kernel import Array, Kernel
from replan.schedule.rule import Context, Decision, Need, Rule, register
from replan.schedule.score import compared, require_threshold

THRESHOLDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


def lazy_score(current: Kernel, stale: Kernel, next_values: Array) -> float:
    """Return max over (s, a) of |sum over s' of (P_t - P_{tau-1})(s' | s, a) W_1(s')|."""
    return _largest_difference(current.expect(next_values), stale.expect(next_values))


def _largest_difference(now: Array, stale: Array) -> float:
    return float(np.abs(now - stale).max())


@register
@dataclass(frozen=True)
class LazyValue(Rule):
    """The value-weighted drift against a threshold. It has to know the current kernel, as in the paper."""

    threshold: float = 0.1
    """The value-weighted drift, in units of reward, at which the rule updates."""

    name = "lazy-value"
    needs = frozenset({Need.CURRENT_KERNEL})

    def __post_init__(self) -> None:
        require_threshold(self.threshold)

    @classmethod
    def candidates(cls) -> list[LazyValue]:
        """Return one rule for each threshold."""
        return [cls(threshold) for threshold in THRESHOLDS]

    def decide(self, context: Context) -> Decision:
        """Update if the value-weighted drift reaches the threshold."""
        next_values = context.plan.next_values
        if LazyValue not in context.cache:
            context.cache[LazyValue] = context.kernel.expect(next_values)
        score = _largest_difference(context.current_kernel.expect(next_values), context.cache[LazyValue])
        return compared(score, self.threshold, "value-weighted drift", {"value_drift": score})
