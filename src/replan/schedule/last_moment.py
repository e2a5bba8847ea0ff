"""`last-moment` and `gain`: replan when it matters, for robots that see where they are.

Until the plan in force takes an action that a new plan would not take, waiting costs nothing, and the model
only gets better. So `last-moment` updates when, on the running estimate, the action that the robot is about
to take is worse than the new plan's by a margin. `gain` compares what both plans are worth from here on; it
asks for an update as soon as the way ahead could be better. Where updates take time, both look at the moment
at which the new plan would arrive, over the states in which the robot may be then.

The new plan is that of the robot's judge, which is cheap, whatever planner makes the updates. Where the judge
took the same action at the last update already, only planner and judge differ: an update would not help.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from replan.errors import InputError, require_numbers
from replan.forecast.base import mean_kernel
from replan.model.kernel import Array, Indices
from replan.planning.backward_induction import Plan
from replan.planning.optimal_values import follow, policy_values
from replan.schedule.rule import Context, Decision, Need, Rule, register
from replan.schedule.score import TRIGGER_TOLERANCE, compared, stale_drift
from replan.skip.acting import Update


@register
@dataclass(frozen=True)
class LastMoment(Rule):
    """Update when the plan in force would now take an action that is worse than that of the judge's new plan.

    With a price, the gain of the new plan must be at least the price too; a robot that waits while an update
    runs must gain something, the waiting counted.
    """

    margin: float = 0.003
    """Loss of the action, in units of reward, at which the rule updates."""
    pace: bool = True
    """Whether a scarce budget is saved while the kernel goes on moving.

    A new plan will be T - t divided by the updates left old when it is replaced. If the plan in force is
    younger than that, the next action must lose at least as much as the new plan will lose in a mean step.
    That is taken to be the gain per step that is left, times the mean drift that the new plan will see at the
    pace of the last step over the drift since the plan in force was made, or times 1 if that is less.
    """

    name = "last-moment"
    needs = frozenset({Need.STATE, Need.RUNNING_ESTIMATE, Need.DRIFT_SO_FAR})

    def __post_init__(self) -> None:
        _check_margin(self.margin)

    def decide(self, context: Context) -> Decision:
        """Compare the loss of the next action with the margin, then the gain of a new plan with its price."""
        state = np.array([context.state])
        loss = float(action_losses(context, state)[0])
        decision = compared(loss, self.margin, "loss of the next action", {"loss": loss})
        if not decision.update or not self._weighs_gain(context):
            return decision
        gain = float(plan_gains(context, state)[0])
        due = bool(self._pays(context, np.array([loss]), np.array([gain]))[0])
        reason = f"the next action loses {loss:.4g}; a new plan gains {gain:.4g}"
        reason += f" in {context.steps_left} steps{'' if due else ': too little for one of the updates left'}"
        return Decision(due, reason, loss, self.margin, {"loss": loss, "gain": gain})

    def updates(self, context: Context, states: Indices) -> np.ndarray:
        """(R,) bool, the decisions for many present states."""
        losses = action_losses(context, states)
        due = losses >= self.margin - TRIGGER_TOLERANCE
        if self._weighs_gain(context) and due.any():
            due[due] = self._pays(context, losses[due], plan_gains(context, states[due]))
        return due

    def _weighs_gain(self, context: Context) -> bool:
        """Return whether an update has a price, costs waiting, or has to be saved."""
        return context.price is not None or context.latency.waiting is not None or self._is_paced(context)

    def _is_paced(self, context: Context) -> bool:
        age = context.time - context.last_update
        return self.pace and age * context.budget_left < context.steps_left

    def _pays(self, context: Context, losses: Array, gains: Array) -> np.ndarray:
        """(R,) whether an update is worth its price, and one of those left."""
        due = np.ones(len(gains), dtype=bool)
        if context.price is not None:
            due &= gains >= context.price - TRIGGER_TOLERANCE
        if context.latency.waiting is not None:
            due &= gains >= 0.0
        if self._is_paced(context):
            drift, latest = stale_drift(context), float(context.drift_bounds[-1])
            moving = latest / (2 * context.budget_left * drift) if drift > 0 else 0.0
            due &= losses >= gains * max(moving, 1 / context.steps_left) - TRIGGER_TOLERANCE
        return due


@register
@dataclass(frozen=True)
class Gain(Rule):
    """Update when a new plan is worth more than the plan in force, from here on, by a margin or the price.

    The new plan is the judge's. It must be worth as much more than the judge's plan of the last update.
    """

    margin: float = 0.03
    """Gain, in units of reward, at which the rule updates where an update has no price."""

    name = "gain"
    needs = frozenset({Need.STATE, Need.RUNNING_ESTIMATE})

    def __post_init__(self) -> None:
        _check_margin(self.margin)

    def decide(self, context: Context) -> Decision:
        """Compare the gain with the margin, or the price."""
        margin = self.margin if context.price is None else context.price
        gain = float(plan_gains(context, np.array([context.state]))[0])
        return compared(gain, margin, "gain of a new plan", {"gain": gain})

    def updates(self, context: Context, states: Indices) -> np.ndarray:
        """(R,) bool, the decisions for many present states."""
        margin = self.margin if context.price is None else context.price
        return plan_gains(context, states) >= margin - TRIGGER_TOLERANCE


def _check_margin(margin: float) -> None:
    require_numbers(margin=margin)
    if not 0 < margin < inf:
        raise InputError(f"margin must be above 0 and finite, not {margin}")


def action_losses(context: Context, states: Indices) -> Array:
    """(R,) Q(s, a') - Q(s, a): what the action of the plan in force loses against that of a new plan.

    Q takes an action once and then follows the new plan to T, on the kernels that are expected now. With an
    update that takes time it is the expected loss at its arrival. Where the judge took the new action at the
    last update already, nothing is lost.
    """
    durations = context.latency.durations
    if context.latency.instant and _nothing_new(context, context.running.make(0), states).all():
        return np.zeros(len(states))
    return np.sum([p * _NewPlan.of(context, steps).losses(context)[states] for steps, p in durations], axis=0)


def plan_gains(context: Context, states: Indices) -> Array:
    """(R,) what an update gains over the plan in force from the states to T, on the kernels expected now.

    If the judge's plan of the last update is worth more than the plan in force, it is the gain over that.
    """
    durations = context.latency.durations
    return np.sum([p * _NewPlan.of(context, steps).gains(context)[states] for steps, p in durations], axis=0)


def _nothing_new(context: Context, update: Update, states: Indices) -> np.ndarray:
    """(R,) whether a new plan begins as the plan in force goes on, or as that of the judge before does."""
    time = update.arrival
    new, old = update.plan.at(time).policy[states], context.plan.at(time).policy[states]
    same = new == old
    return same if same.all() else same | (new == context.update.judged.at(time).policy[states])


class _NewPlan:
    """The plan of an update that could begin now, and what it is worth against the plans in force.

    Each number is worked out once, on the kernels that are expected now.
    """

    def __init__(self, update: Update, context: Context) -> None:
        self.update, self.horizon, self.reward = update, context.horizon, context.reward
        self.kernel_at, self.states = mean_kernel(update.futures), np.arange(context.kernel.states)
        self._losses: dict[Update, Array] = {}
        self._gains: dict[Update, Array] = {}

    @classmethod
    def of(cls, context: Context, steps: int) -> _NewPlan:
        """Return the new plan of an update of so many steps, kept with that update."""
        update = context.running.make(steps)
        if cls not in update.cache:
            update.cache[cls] = cls(update, context)
        return update.cache[cls]

    def losses(self, context: Context) -> Array:
        """(S,) expected loss at the arrival of the action of the plan in force, from each state now."""
        if context.update not in self._losses:
            arrival, losses = self.update.arrival, np.zeros(len(self.states))
            known = arrival >= self.horizon or _nothing_new(context, self.update, self.states)
            if not np.all(known):
                new, old = self.update.plan.at(arrival).policy, context.plan.at(arrival).policy
                lost = self.q_values[self.states, new] - self.q_values[self.states, old]
                losses = self._expect(context, np.where(known, 0.0, lost))
            self._losses[context.update] = losses
        return self._losses[context.update]

    def gains(self, context: Context) -> Array:
        """(S,) what the new plan, after its arrival, gains over the plan in force, from each state now."""
        if context.update not in self._gains:
            new, old, judged = self.update.plan, context.plan, context.update.judged
            first = new.at(self.update.arrival).policy
            gains = np.zeros(len(self.states))
            stay = context.latency.instant and not (new.later or old.later)
            if not (stay and np.array_equal(first, old.at(context.time).policy)):
                going_on = self._worth(old, context.time)
                if judged is not old:
                    going_on = np.maximum(going_on, self._worth(judged, context.time))
                if self.update.arrival < self.horizon:
                    gains = self.q_values[self.states, first]
                gains = self._expect(context, gains, paid=True) - going_on
            self._gains[context.update] = gains
        return self._gains[context.update]

    @cached_property
    def q_values(self) -> Array:
        """(S, A) worth of taking an action at the arrival and then following the new plan."""
        time = self.update.arrival
        return self.reward(time).q_values(self.kernel_at(time), self._worth(self.update.plan, time + 1))

    def _worth(self, plan: Plan, begin: int) -> Array:
        """(S,) what a plan gains from a time to T."""
        if begin == self.horizon:
            return np.zeros(len(self.states))
        policy_at = {t: plan.at(t).policy for t in range(begin, self.horizon)}.__getitem__
        return policy_values(self.kernel_at, self.reward, policy_at, begin=begin, end=self.horizon)

    def _expect(self, context: Context, values: Array, *, paid: bool = False) -> Array:
        """(S,) expectation now of (S,) values at the arrival, and of the rewards until then if paid."""
        waiting = context.latency.waiting
        for t in range(min(self.update.arrival, self.horizon) - 1, context.time - 1, -1):
            policy = context.plan.at(t).policy if waiting is None else np.full(len(values), waiting)
            step = follow(self.kernel_at(t), self.reward(t), policy)
            values = step.backup(values) if paid else step.expect(values)
        return values
