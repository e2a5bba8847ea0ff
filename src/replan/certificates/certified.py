"""`certified`: update when the certificate of going on exceeds a promised amount.

The loss of the blind steps since the last update and of one more is bounded over all kernels within the
drift bounds of the last estimate, in both ways of `replan.certificates.legs`: the sum of what each action
gives away; and a difference, the most that an optimal policy could win minus the least that is won blindly
and that an optimal policy is sure to win afterwards. The rule updates when this bound exceeds the amount.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np

from replan import _loops
from replan.certificates.certificate import Tightening, uncertainty
from replan.certificates.legs import optimistic_values, step_costs
from replan.certificates.premises import KernelEstimate, Premises
from replan.certificates.uncertainty import Uncertainty, action_reward, losses_backwards
from replan.errors import InputError
from replan.model.kernel import Array
from replan.model.reward import Reward
from replan.model.sizes import require_pairs
from replan.schedule.rule import Context, Decision, Need, Rule, register


def given_away(context: Context, steps: int) -> Array:
    """(X,) the most that a robot that saw x at the last update can have lost after `steps` steps."""
    key = (_Blind, context.drift_bounds.tobytes())
    if key not in context.cache:
        context.cache[key] = _Blind(context)
    return context.cache[key].after(steps)


def sure_values(uncertain: Uncertainty, reward: Callable[[int], Reward]) -> list[Array]:
    """For t = 0..T, (S,) the least return of an optimal policy from t on, over all possible kernels."""
    values = [np.zeros(uncertain.counts[-1])]
    for t in range(uncertain.horizon - 1, -1, -1):
        arrival = reward(t).next_state
        ahead = values[-1] if arrival is None else values[-1] + arrival
        won = action_reward(uncertain, reward(t), t) - uncertain.best(t, 0, -ahead)
        values.append(won.max(axis=1))
    return values[::-1]


class _Blind:
    """The blind steps after one update, for all states at once, as far as they were asked for."""

    def __init__(self, context: Context) -> None:
        self.begin, states = context.last_update, context.kernel.states
        require_pairs(states, 8 + context.horizon / 64, "the rule certified")
        estimate = KernelEstimate(context.estimate_time, context.kernel)
        known = Premises((estimate,), context.drift_bounds, context.declared_successors, context.family)
        self.uncertain = uncertainty(known, Tightening(slip_cells=1))
        world = (self.uncertain, context.reward)
        steps = context.horizon - self.begin
        self.losses = [*islice(losses_backwards(*world), steps)][::-1]  # of the steps from the update on
        self.best, self.sure = optimistic_values(*world), sure_values(*world)
        self.cost, self.arrival = step_costs(*world)
        self.propagation = context.propagation
        self.estimate, self.actions = self.propagation.begin(np.arange(states)), []
        self.successors, self.states = known.successors()[0], states
        self.places = [np.packbits(np.eye(states, dtype=bool), axis=1)]  # an eighth of the memory
        self.after = lru_cache(maxsize=None)(self._after)

    def _after(self, steps: int) -> Array:
        while len(self.actions) < steps:
            self._go_on()
        end = self.begin + steps
        lost = np.zeros((self.states, self.states))  # (X, S) at most, from t on
        unpaid = np.tile(-self.sure[end], (len(lost), 1))  # (X, S) minus the least return from t on
        for t in range(end - 1, self.begin - 1, -1):
            extra = self.arrival(t)
            unpaid = self._step(t, self.cost(t), unpaid if extra is None else unpaid + extra)
            lost = np.minimum(self._step(t, self.losses[t - self.begin][0], lost), self.best[t][0] + unpaid)
        return np.diagonal(lost).copy()

    def _go_on(self) -> None:
        time = self.begin + len(self.actions)
        self.actions.append(self.propagation.act(self.estimate, time))
        self.estimate = self.propagation.advance(self.estimate, self.actions[-1], time)
        places = _loops.certificates.spread_places(self.successors, self._places(-1), self.states)
        self.places.append(np.packbits(places, axis=1))

    def _step(self, t: int, cost: Array, ahead: Array) -> Array:
        """One step back, for the states in which a robot that saw x can be."""
        k = t - self.begin
        return self.uncertain.step(t, 0, cost, self.actions[k], ahead, self._places(k))

    def _places(self, k: int) -> Array:
        """(X, S) the states in which a robot that saw x can be k steps after the update."""
        return np.unpackbits(self.places[k], axis=1, count=self.states).view(bool)


@register
@dataclass(frozen=True)
class Certified(Rule):
    """Never give away more than `amount` between two updates, as far as the budget reaches."""

    amount: float = 0.2

    name = "certified"
    needs = frozenset({Need.STATE, Need.DRIFT_AHEAD})
    weighs_the_state = True

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
