"""`certified`: update when the certificate of going on exceeds a promised amount.

What the robot's blind steps since the last update can have given away, and would with one more, is bounded
over all kernels within the drift bounds of the last estimate. The rule goes on while that stays within the
amount.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from replan.certify.boxes import RowBoxes
from replan.certify.knowledge import Estimate, Known
from replan.certify.structure import SlipRange, has_one_slip
from replan.certify.uncertainty import losses
from replan.model.kernel import Array
from replan.schedule.rule import Context, Decision, Knowledge
from replan.skip.propagate import propagation


@dataclass(frozen=True)
class Certified:
    """Never give away more than `amount` between two updates, as far as the budget reaches."""

    amount: float = 0.2

    name: ClassVar[str] = "certified"
    knows: ClassVar[Knowledge] = "drift profile"
    uses_state: ClassVar[bool] = True
    paced: ClassVar[bool] = False

    def decide(self, context: Context) -> Decision:
        """Whether one more blind step would exceed the amount."""
        bound = float(going_on(context, self.amount)[context.time - context.last_update, context.state])
        due = bound > self.amount
        reason = (
            f"going on may have given away {bound:.4g}, {'more' if due else 'not more'} than {self.amount:g}"
        )
        return Decision(due, reason, score=bound, threshold=self.amount, terms={"certificate": bound})


def going_on(context: Context, amount: float) -> Array:
    """(L, X) what a robot that saw x can have given away, at most, after 1, 2, ... blind steps.

    Computed once for an update, for all states, up to the step at which every state exceeds the amount; later
    entries are infinite.
    """
    return _going_on(_Update(context), amount)


class _Update:
    """A context told apart by its update alone, so that what is computed for it is computed once."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def __hash__(self) -> int:
        return hash((id(self.context.plan), self.context.last_update))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Update):
            return False
        mine, theirs = self.context, other.context
        return (
            mine.plan is theirs.plan
            and mine.kernel is theirs.kernel
            and mine.reward is theirs.reward
            and (mine.last_update, mine.horizon, mine.execution)
            == (theirs.last_update, theirs.horizon, theirs.execution)
            and np.array_equal(mine.drift_bounds, theirs.drift_bounds)
        )


@lru_cache(maxsize=128)
def _going_on(update: _Update, amount: float) -> Array:
    context = update.context
    tau, horizon, states = context.last_update, context.horizon, context.kernel.states
    known = Known(
        (Estimate(max(tau - 1, 0), context.kernel),), context.drift_bounds, context.declared_successors
    )
    uncertain = SlipRange(known) if has_one_slip(context.kernel) else RowBoxes(known)
    given_away = losses(uncertain, context.reward, horizon, states)
    how = propagation(context.execution, context.plan, context.kernel)
    estimate, actions = how.begin(np.arange(states)), []
    everywhere = np.ones((states, states), dtype=bool)
    found = np.full((horizon - tau, states), np.inf)
    for length in range(1, horizon - tau + 1):
        actions.append(how.act(estimate))
        estimate = how.advance(estimate, actions[-1])
        ahead = np.zeros((states, states))
        for t in range(tau + length - 1, tau - 1, -1):
            ahead = uncertain.step(t, 0, given_away[t][0], actions[t - tau], ahead, everywhere)
        found[length - 1] = np.diagonal(ahead)
        if (found[length - 1] > amount).all():
            break
    return found
