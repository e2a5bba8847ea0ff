"""`lazy-value`: update when the drift matters to the plan in use (the paper's Lazy, eq. (lazy score))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, Kernel
from replan.schedule.rule import Context, Decision, Knowledge
from replan.schedule.score import compared, reaches


def lazy_score(current: Kernel, stale: Kernel, next_values: Array) -> float:
    """max over (s, a) of |sum over s' of (P_t - P_{tau-1})(s' | s, a) W_1(s')|."""
    return float(np.abs(current.expect(next_values) - stale.expect(next_values)).max())


@dataclass(frozen=True)
class LazyValue:
    """The value-weighted drift against a threshold. It has to know the current kernel, as in the paper."""

    threshold: float = 0.1

    name: ClassVar[str] = "lazy-value"
    knows: ClassVar[Knowledge] = "current kernel"
    uses_state: ClassVar[bool] = False
    paced: ClassVar[bool] = True

    def decide(self, context: Context) -> Decision:
        """Whether the value-weighted drift has reached the threshold."""
        if context.current_kernel is None:
            raise InputError("lazy-value needs the current kernel, and the context has none")
        score = lazy_score(context.current_kernel, context.kernel, context.plan.next_values)
        due = reaches(score, self.threshold)
        reason = compared(score, self.threshold, due, "value-weighted drift")
        return Decision(due, reason, score, self.threshold, {"value_drift": score})
