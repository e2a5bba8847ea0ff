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

from replan.certify.certificate import Tightening, uncertainty
from replan.certify.knowledge import Estimate, Known
from replan.certify.lemmas import reward_range
from replan.certify.uncertainty import losses
from replan.errors import InputError
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

    def __post_init__(self) -> None:
        if not self.amount > 0:
            raise InputError(f"amount must be positive, not {self.amount}")

    def decide(self, context: Context) -> Decision:
        """Whether one more blind step would exceed the amount."""
        steps = context.time - context.last_update + 1
        bound = float(given_away(context, steps)[context.state])
        due = bound > self.amount
        reason = (
            f"going on may have given away {bound:.4g}, {'more' if due else 'not more'} than {self.amount:g}"
        )
        return Decision(due, reason, score=bound, threshold=self.amount, terms={"certificate": bound})


def given_away(context: Context, steps: int) -> Array:
    """(X,) the most that a robot that saw x at the last update can have given away after so many steps."""
    return _blind(_Update(context)).after(steps)


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
            and mine.declared_successors is theirs.declared_successors
            and (mine.last_update, mine.horizon, mine.execution)
            == (theirs.last_update, theirs.horizon, theirs.execution)
            and np.array_equal(mine.drift_bounds, theirs.drift_bounds)
        )


class _Blind:
    """The blind steps after one update, for all states at once, as far as they were asked for."""

    def __init__(self, context: Context) -> None:
        self.begin, self.states = context.last_update, context.kernel.states
        estimate = Estimate(max(self.begin - 1, 0), context.kernel)
        known = Known((estimate,), context.drift_bounds, context.declared_successors)
        self.uncertain = uncertainty(known, Tightening(slip_cells=1))
        self.losses = losses(self.uncertain, context.reward, context.horizon, self.states)
        self.horizon, self.width = context.horizon, reward_range(context.reward, context.horizon)
        self.how = propagation(context.execution, context.plan, context.kernel)
        self.estimate, self.actions = self.how.begin(np.arange(self.states)), []
        self.after = lru_cache(maxsize=None)(self._after)

    def _after(self, steps: int) -> Array:
        while len(self.actions) < steps:
            self.actions.append(self.how.act(self.estimate))
            self.estimate = self.how.advance(self.estimate, self.actions[-1])
        everywhere = np.ones((self.states, self.states), dtype=bool)
        ahead = np.zeros((self.states, self.states))
        for t in range(self.begin + steps - 1, self.begin - 1, -1):
            cost, actions = self.losses[t][0], self.actions[t - self.begin]
            ahead = self.uncertain.step(t, 0, cost, actions, ahead, everywhere)
            ahead = np.minimum(ahead, (self.horizon - t) * self.width)  # all that is left to win or lose
        return np.diagonal(ahead).copy()


@lru_cache(maxsize=128)
def _blind(update: _Update) -> _Blind:
    return _Blind(update.context)
