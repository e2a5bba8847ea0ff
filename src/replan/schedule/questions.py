"""Asking a rule. All rules are asked here, so that none overspends its budget or falls short of it.

An update reveals the state; a blind robot learns nothing until the next one. Exact evaluation therefore asks
for the distribution of the next update, for many states at once (`next_updates`), or, of robots that are
seen, for the chance of one now (`chances_now`). A robot asks for one draw from the distribution
(`named_update`) and then step by step (`decision_at`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, Indices
from replan.model.streams import RULE, uniforms
from replan.schedule.rule import Context, Decision, Need, Rule
from replan.skip.spending import FIRST_UPDATE, Spending

ContextAt = Callable[[int, int | None], Context]
"""(state seen, time or None for the update itself) -> context."""
SUM_TOLERANCE = 1e-9
"""Difference from 1 that a sum of probabilities may have."""

FREE_STEP = Decision(False, "the first step is free")
FIRST = Decision(True, "the first update is at 1")
JUST_UPDATED = Decision(False, "just updated")
SPENT = Decision(False, "the budget is spent")
RUNNING = Decision(False, "an update is running")


def settled(
    spending: Spending, *, time: int, last_update: int, left: int, arrival: int = 0
) -> Decision | None:
    """Return the decision at a time at which no rule is asked, None if one is.

    `arrival` is the time from which on the plan of the last update is in force.
    """
    if time < FIRST_UPDATE:
        return FREE_STEP
    if spending.first_is_forced and last_update < FIRST_UPDATE:
        return FIRST
    if last_update == time:
        return JUST_UPDATED
    if time < arrival:
        return RUNNING
    return SPENT if left == 0 else None


def _settled_in(context: Context) -> Decision | None:
    last, left, arrival = context.last_update, context.budget_left, context.arrival
    return settled(context.spending, time=context.time, last_update=last, left=left, arrival=arrival)


def forced(left: int, steps: int) -> str:
    """Return the reason of an update that the budget forces."""
    return f"budget forces an update: {left} left, {steps} step{'s' if steps != 1 else ''} to go"


def next_updates(rule: Rule, context_at: ContextAt, states: Indices) -> Array:
    """(R, T + 1) probability of each next update time after an update that reveals `states`; T: none."""
    asked = states if Need.STATE in rule.needs else states[:1]
    at_update = context_at(int(asked[0]), None)
    horizon, named = at_update.horizon, _named(rule, at_update, asked)
    if named is None:
        named = np.full(len(asked), horizon)
        for t in range(at_update.earliest_update, horizon):
            if not len(waiting := np.flatnonzero(named == horizon)):
                break
            named[waiting] = np.where(decisions_at(rule, context_at, asked[waiting], t), t, horizon)
    if named.ndim == 1:
        named = (named[:, None] == np.arange(horizon + 1)).astype(float)
    return np.broadcast_to(named, (len(states), horizon + 1))


def chances_now(rule: Rule, context_at: ContextAt, states: Indices, *, time: int) -> Array:
    """(R,) probability of an update at `time` of robots that are seen in `states` then.

    A time that a rule names at an update binds only rules that do not need the state.
    """
    by_state = Need.STATE in rule.needs
    asked = states if by_state else states[:1]
    context = context_at(int(asked[0]), time)
    if (known := _settled_in(context)) is not None:
        return np.full(len(states), float(known.update))
    if not by_state and type(rule).next_update is not Rule.next_update:
        named = _named(rule, context_at(int(asked[0]), None), asked)
        if named is not None:
            return np.full(len(states), _chance_now(named[0], time))
    due = decisions_at(rule, context_at, asked, time, first=context)
    return np.broadcast_to(due.astype(float), len(states))


def decisions_at(
    rule: Rule, context_at: ContextAt, states: Indices, time: int, *, first: Context | None = None
) -> np.ndarray:
    """(R,) bool, whether robots that saw `states` update at `time`, for a rule that decides step by step.

    `first` is the context of the first state, where it is known.
    """
    first = first or context_at(int(states[0]), time)
    due = rule.updates(first, states)
    if due is None:
        contexts = (first, *(context_at(int(state), time) for state in states[1:]))
        return np.array([decision_at(rule, each, None).update for each in contexts])
    due = np.asarray(due)
    if due.shape != states.shape or due.dtype != bool:
        raise InputError(
            f"the rule {rule.name}: updates answers {due.dtype} of shape {due.shape} at t={time}, "
            f"not True or False for each of {len(states)} states"
        )
    return due | first.spending.forces(first.budget_left, first.steps_left)


def named_update(rule: Rule, at_update: Context, state: int, *, seed: int | None) -> int | None:
    """Return the next update time (T: none) that the rule names or draws, None if it decides step by step."""
    named = _named(rule, at_update, np.array([state]))
    if named is None or named.ndim == 1:
        return None if named is None else int(named[0])
    return draw(named[0], seed, after=at_update.last_update, rule=rule)


def decision_at(rule: Rule, context: Context, named: int | None) -> Decision:
    """Decide at context.time, given the time that the rule named at the last update, if any."""
    if (known := _settled_in(context)) is not None:
        return known
    if named is not None and context.time != named:
        return Decision(context.time > named, f"planned at {context.last_update} for {named}")
    decision = _checked(rule, rule.decide(context), context.time)
    left, steps = context.budget_left, context.steps_left
    if named is not None:
        reason = decision.reason if decision.update else forced(left, steps)
        return replace(decision, update=True, reason=f"planned at {context.last_update}: {reason}")
    if decision.update or not context.spending.forces(left, steps):
        return decision
    return replace(decision, update=True, reason=forced(left, steps))


def _checked(rule: Rule, decision: object, time: int) -> Decision:
    """Return what a rule decided. Raises `InputError` if it is no decision, or its score is not a number."""
    if not isinstance(decision, Decision):
        raise InputError(f"the rule {rule.name} decided {decision!r}, not a Decision")
    if not isinstance(decision.update, (bool, np.bool_)):
        raise InputError(f"the rule {rule.name} decides {decision.update!r}, not True or False, at t={time}")
    if decision.score is not None and np.isnan(decision.score):
        raise InputError(f"the rule {rule.name}: its score is not a number at t={time}")
    return decision


def draw(distribution: Array, seed: int | None, *, after: int, rule: Rule) -> int:
    """Draw a next update time from its distribution (T + 1,), T for none, by the stream of a seed.

    Time t is taken with its probability given that no earlier one was, by the number that the seed has for t.
    """
    possible = np.flatnonzero(distribution)
    if len(possible) == 1:
        return int(possible[0])
    if seed is None:
        raise InputError(f"the rule {rule.name} draws its times: give a seed")
    times = np.arange(after + 1, len(distribution) - 1)
    from_now_on = distribution[::-1].cumsum()[::-1][times]
    taken = uniforms(seed, times, RULE) * from_now_on < distribution[times]
    return int(times[np.argmax(taken)]) if taken.any() else len(distribution) - 1


def _chance_now(named: Array | int, time: int) -> float:
    """Return the probability of `time` in a distribution (T + 1,), or in a time, if none before was taken."""
    if np.ndim(named) == 0:
        return float(named == time)
    assert isinstance(named, np.ndarray)
    later = named[time:].sum()
    return float(named[time] / later) if later > 0 else 0.0


def _named(rule: Rule, at_update: Context, states: Indices) -> Array | Indices | None:
    """(R,) times or (R, T + 1) probabilities within the budget, None for a rule that decides step by step."""
    horizon, last, left = at_update.horizon, at_update.last_update, at_update.budget_left
    if settled(at_update.spending, time=last + 1, last_update=last, left=left) is FIRST:
        return np.full(len(states), FIRST_UPDATE)
    first = at_update.earliest_update
    if left == 0 or first >= horizon:
        return np.full(len(states), horizon)
    named = rule.next_update(at_update, states)
    if named is None:
        return None
    named = np.asarray(named)
    latest = max(at_update.spending.latest(left, horizon), first)
    if named.shape == (len(states),) and np.issubdtype(named.dtype, np.integer):
        return np.clip(named, first, latest)
    if named.shape == (len(states), horizon + 1):
        if at_update.spending.spacing > 1 or first > last + 1:
            named = _moved(named, first, latest)
        _check_probabilities(rule, named, first, latest)
        return named
    raise InputError(
        f"the rule {rule.name} named {named.dtype} of shape {named.shape}, neither times nor probabilities"
    )


def _moved(named: Array, first: int, latest: int) -> Array:
    """(R, T + 1) probabilities with times before `first` moved to it, and those after `latest` to that."""
    moved = named.copy()
    moved[:, first] += named[:, :first].sum(axis=1)
    moved[:, latest] += named[:, latest + 1 :].sum(axis=1)
    moved[:, :first] = moved[:, latest + 1 :] = 0.0
    return moved


def _check_probabilities(rule: Rule, named: Array, first: int, latest: int) -> None:
    """Raise `InputError` if rows of (R, T + 1) are no distributions over the times `first` to `latest`."""
    sums = named.sum(axis=1)
    if not ((named >= 0).all() and (abs(sums - 1) <= SUM_TOLERANCE).all()):
        raise InputError(
            f"the rule {rule.name}: its probabilities after an update at {first - 1} are no distribution "
            f"(sum {sums[np.argmax(abs(sums - 1))]:.9g}, least {named.min():.3g})"
        )
    if named[:, :first].any() or named[:, latest + 1 :].any():
        raise InputError(
            f"the rule {rule.name}: its probabilities after an update at {first - 1} break the budget: "
            f"the next update must lie in {first} to {latest}"
        )
