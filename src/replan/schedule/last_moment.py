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

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from replan.errors import InputError, require_numbers
from replan.forecast.base import mean_kernel
from replan.model.kernel import Array, Indices
from replan.planning.backward_induction import Plan
from replan.planning.optimal_values import follow, policy_values
from replan.schedule.rule import Context, Decision, Need, Rule, register
from replan.schedule.score import TRIGGER_TOLERANCE, compared, reaches, stale_drift
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
        due = reaches(loss, self.margin)
        if not due or not self._weighs_gain(context):
            reason = compared(loss, self.margin, due, "loss of the next action")
            return Decision(due, reason, loss, self.margin, {"loss": loss})
        gain = float(plan_gains(context, state)[0])
        due = bool(self._pays(context, np.array([loss]), np.array([gain]))[0])
        reason = (
            f"the next action loses {loss:.4g}; a new plan gains {gain:.4g} in {context.steps_left} steps"
        )
        reason += "" if due else ": too little for one of the updates left"
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
            due &= losses >= gains * _share_to_lose(context) - TRIGGER_TOLERANCE
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
        due = reaches(gain, margin)
        return Decision(due, compared(gain, margin, due, "gain of a new plan"), gain, margin, {"gain": gain})

    def updates(self, context: Context, states: Indices) -> np.ndarray:
        """(R,) bool, the decisions for many present states."""
        margin = self.margin if context.price is None else context.price
        return plan_gains(context, states) >= margin - TRIGGER_TOLERANCE


def _check_margin(margin: float) -> None:
    require_numbers(margin=margin)
    if not 0 < margin < inf:
        raise InputError(f"margin must be above 0 and finite, not {margin}")


def _share_to_lose(context: Context) -> float:
    """Return the share of a new plan's gain that the next action must lose while updates are paced."""
    drift, latest = stale_drift(context), float(context.drift_bounds[-1])
    moving = latest / (2 * context.budget_left * drift) if drift > 0 else 0.0
    return max(moving, 1 / context.steps_left)


def _nothing_new(context: Context, update: Update, time: int, states: Indices) -> np.ndarray:
    """(R,) whether a new plan takes the action of the plan in force, or that of the judge's plan before."""
    new, old = update.plan.at(time).policy[states], context.plan.at(time).policy[states]
    same = new == old
    return same if same.all() else same | (new == context.update.judged.at(time).policy[states])


def action_losses(context: Context, states: Indices) -> Array:
    """(R,) Q(s, a') - Q(s, a): what the action of the plan in force loses against that of a new plan.

    Q takes an action once and then follows the new plan to T, on the kernels that are expected now. With an
    update that takes time it is the expected loss at its arrival. Where the judge took the new action at the
    last update already, nothing is lost.
    """
    if context.latency.instant and _nothing_new(context, context.running.update, context.time, states).all():
        return np.zeros(len(states))
    return _mean_over_durations(context, states, _losses)


def plan_gains(context: Context, states: Indices) -> Array:
    """(R,) what an update gains over the plan in force from the states to T, on the kernels expected now.

    If the judge's plan of the last update is worth more than the plan in force, it is the gain over that.
    """
    if context.latency.instant and _same_actions(context.running.update.plan, context.plan, context.time):
        return np.zeros(len(states))
    return _mean_over_durations(context, states, _gains)


def _same_actions(new: Plan, old: Plan, time: int) -> bool:
    """Return whether two plans that stay act alike in every state."""
    return not (new.later or old.later) and np.array_equal(new.at(time).policy, old.at(time).policy)


def _mean_over_durations(
    context: Context, states: Indices, measure: Callable[[Context, Update, int], Array]
) -> Array:
    """(R,) mean over the durations of an update of (S,) measures."""
    parts = [
        (probability, _kept(context, steps, measure)[states])
        for steps, probability in context.latency.durations
    ]
    return parts[0][1] if len(parts) == 1 else np.sum([p * part for p, part in parts], axis=0)


def _kept(context: Context, steps: int, measure: Callable[[Context, Update, int], Array]) -> Array:
    """(S,) a measure of the update that could begin now, kept with it."""
    update = context.running.make(steps)
    key = measure, context.time, steps, context.update
    if key not in update.cache:
        update.cache[key] = measure(context, update, context.time + steps)
    return update.cache[key]


def _losses(context: Context, update: Update, arrival: int) -> Array:
    """(S,) expected loss at the arrival of the action of the plan in force, from each state now."""
    states = np.arange(context.kernel.states)
    if arrival >= context.horizon:
        return np.zeros(len(states))
    nothing_new = _nothing_new(context, update, arrival, states)
    if nothing_new.all():
        return np.zeros(len(states))
    new, old = update.plan.at(arrival).policy, context.plan.at(arrival).policy
    q_values = _following(context, update, arrival)
    losses = np.where(nothing_new, 0.0, q_values[states, new] - q_values[states, old])
    return _meanwhile(context, update, losses, arrival)


def _gains(context: Context, update: Update, arrival: int) -> Array:
    """(S,) what the new plan, after its arrival, gains over the plan in force, from each state now."""
    time, states = context.time, np.arange(context.kernel.states)
    going_on = _values_from(context, update, context.plan, time)
    if (judged := context.update.judged) is not context.plan:
        going_on = np.maximum(going_on, _values_from(context, update, judged, time))
    if arrival >= context.horizon:
        arrival, new = context.horizon, np.zeros(len(states))
    else:
        policy = update.plan.at(arrival).policy
        new = _following(context, update, arrival)[states, policy]
    return _meanwhile(context, update, new, arrival, paid=True) - going_on


def _meanwhile(context: Context, update: Update, values: Array, arrival: int, *, paid: bool = False) -> Array:
    """(S,) expectation now of (S,) `values` at the arrival, plus the rewards until then if they are paid."""
    kernel_at, waiting = mean_kernel(update.futures), context.latency.waiting
    for t in range(arrival - 1, context.time - 1, -1):
        policy = context.plan.at(t).policy if waiting is None else np.full(len(values), waiting)
        step = follow(kernel_at(t), context.reward(t), policy)
        values = step.backup(values) if paid else step.expect(values)
    return values


def _following(context: Context, update: Update, time: int) -> Array:
    """(S, A) Q of taking an action at a time and then following the new plan."""
    key = _following, time
    if key not in update.cache:
        after = _values_from(context, update, update.plan, time + 1)
        kernel = mean_kernel(update.futures)(time)
        update.cache[key] = context.reward(time).q_values(kernel, after)
    return update.cache[key]


def _values_from(context: Context, update: Update, plan: Plan, begin: int) -> Array:
    """(S,) what a plan gains from a time to T on the kernels that are expected now."""
    if begin == context.horizon:
        return np.zeros(context.kernel.states)
    kernel_at = mean_kernel(update.futures)
    policy_at = {t: plan.at(t).policy for t in range(begin, context.horizon)}
    return policy_values(kernel_at, context.reward, policy_at.__getitem__, begin=begin, end=context.horizon)
