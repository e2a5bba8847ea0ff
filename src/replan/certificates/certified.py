"""`certified`: update when the certificate of going on exceeds a promised amount.

The loss of the blind steps since the last update and of one more is bounded over all kernels within the drift
bounds of the last estimate. The rule updates when this bound exceeds the amount.
"""

from __future__ import annotations

from dataclasses import dataclass

from replan.certificates.blind import given_away
from replan.errors import InputError
from replan.schedule.registry import register
from replan.schedule.rule import Context, Decision, Need, Rule


@register
@dataclass(frozen=True)
class Certified(Rule):
    """Never give away more than `amount` between two updates, as far as the budget reaches."""

    amount: float = 0.2

    name = "certified"
    needs = frozenset({Need.STATE, Need.DRIFT_AHEAD})

    def __post_init__(self) -> None:
        if not self.amount > 0:
            raise InputError(f"amount must be positive, not {self.amount}")

    @classmethod
    def candidates(cls) -> list[Certified]:
        """One for each of a few amounts."""
        return [cls(amount) for amount in (0.05, 0.2, 0.5, 1.0, 2.0)]

    def decide(self, context: Context) -> Decision:
        """Whether one more blind step would exceed the amount."""
        steps = context.time - context.last_update + 1
        bound = float(given_away(context, steps)[context.state])
        due = bound > self.amount
        reason = (
            f"going on may have given away {bound:.4g}, {'more' if due else 'not more'} than {self.amount:g}"
        )
        return Decision(due, reason, score=bound, threshold=self.amount, terms={"certificate": bound})
