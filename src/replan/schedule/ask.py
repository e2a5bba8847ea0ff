"""Asking a rule. All rules are asked here, so that none overspends its budget or falls short of it.

An update reveals the state; nothing is learned until the next one. Exact evaluation therefore asks for the
distribution of the next update time, for many states at once (`next_updates`), and a robot asks for one draw
from it (`named_update`) and then step by step (`decision_at`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, Indices
from replan.model.streams import RULE, uniforms
from replan.schedule.budget import Kind, forced_parts
from replan.schedule.rule import Context, Decision, Need, Rule

ContextAt = Callable[[int, int | None], Context]
"""(state seen, time or None for the update itself) -> context."""
FORCED = "as many updates are left as steps"
SUM_TOLERANCE = 1e-9
"""Difference from 1 that a sum of probabilities may have."""


def next_updates(
    rule: Rule, context_at: ContextAt, states: Indices, *, spend_all: bool
) -> tuple[Array, Indices]:
    """(R, T + 1) probability of each next update time after an update that reveals `states`; T: none.

    And (R,) the kind of that update.
    """
    asked = states if Need.STATE in rule.needs else states[:1]
    at_update = context_at(int(asked[0]), None)
    named = _named(rule, at_update, asked, spend_all=spend_all)
    kinds = np.full(len(asked), int(at_update.kinds_left))
    if named is None:
        named, kinds = _first_yes(rule, context_at, asked, at_update, spend_all)
    if named.ndim == 1:
        named = (named[:, None] == np.arange(at_update.horizon + 1)).astype(float)
    count = len(states)
    return np.broadcast_to(named, (count, at_update.horizon + 1)), np.broadcast_to(kinds, (count,))


def named_update(
    rule: Rule, at_update: Context, state: int, *, seed: int | None, spend_all: bool
) -> int | None:
    """Return the next update time (T: none) that the rule names or draws, None if it decides step by step."""
    named = _named(rule, at_update, np.array([state]), spend_all=spend_all)
    if named is None or named.ndim == 1:
        return None if named is None else int(named[0])
    return draw(named[0], seed, after=at_update.last_update, rule=rule)


def decision_at(rule: Rule, context: Context, named: int | None, *, spend_all: bool) -> Decision:
    """Decide at context.time, given the time that the rule named at the last update, if any."""
    if context.budget_left == 0:
        return Decision(False, "the budget is spent")
    if named is not None and context.time != named:
        return Decision(context.time > named, f"planned at {context.last_update} for {named}")
    decision = rule.decide(context)
    if not isinstance(decision, Decision):
        raise InputError(f"the rule {rule.name} decided {decision!r}, not a Decision")
    if named is not None:
        reason = decision.reason if decision.update else FORCED
        planned = replace(decision, update=True, reason=f"planned at {context.last_update}: {reason}")
        return planned.restrict(context.kinds_left)
    return _within_budget(decision, context, spend_all=spend_all)


def _within_budget(decision: Decision, context: Context, *, spend_all: bool) -> Decision:
    """Return the decision with the parts that the budget forces, and without those that are spent.

    With one budget for both an update has both parts.
    """
    asked = Kind.BOTH if decision.update and not context.parts else decision.kind
    steps = context.horizon - context.time
    forced = forced_parts(context.looks_left, context.plans_left, steps) if spend_all else 0
    kind = (asked | forced) & context.kinds_left
    if kind == decision.kind:
        return decision
    return replace(decision, reason=decision.reason if decision.update else FORCED).restrict(kind)


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


def _named(rule: Rule, at_update: Context, states: Indices, *, spend_all: bool) -> Array | Indices | None:
    """(R,) times or (R, T + 1) probabilities within the budget, None for a rule that decides step by step."""
    horizon, left = at_update.horizon, at_update.budget_left
    if left == 0 or at_update.last_update == horizon - 1:
        return np.full(len(states), horizon)
    named = rule.next_update(at_update, states)
    if named is None:
        return None
    named = np.asarray(named)
    first, last = at_update.last_update + 1, horizon - left if spend_all else horizon
    if named.shape == (len(states),) and np.issubdtype(named.dtype, np.integer):
        return np.clip(named, first, last)
    if named.shape == (len(states), horizon + 1):
        _check_probabilities(rule, named, first, last)
        return named
    raise InputError(
        f"the rule {rule.name} named {named.dtype} of shape {named.shape}, neither times nor probabilities"
    )


def _check_probabilities(rule: Rule, named: Array, first: int, last: int) -> None:
    """Raise `InputError` if rows of (R, T + 1) are no distributions over the times `first` to `last`."""
    sums = named.sum(axis=1)
    if not ((named >= 0).all() and (abs(sums - 1) <= SUM_TOLERANCE).all()):
        raise InputError(
            f"the rule {rule.name}: its probabilities after an update at {first - 1} are no distribution "
            f"(sum {sums[np.argmax(abs(sums - 1))]:.9g}, least {named.min():.3g})"
        )
    if named[:, :first].any() or named[:, last + 1 :].any():
        raise InputError(
            f"the rule {rule.name}: its probabilities after an update at {first - 1} break the budget: "
            f"the next update must lie in {first} to {last}"
        )


def _first_yes(
    rule: Rule, context_at: ContextAt, states: Indices, at_update: Context, spend_all: bool
) -> tuple[Indices, Indices]:
    """(R,) the first time at which the rule decides to update, T: never, and (R,) the kind of the update."""
    horizon = at_update.horizon
    times, kinds = np.full(len(states), horizon), np.zeros(len(states), dtype=np.int64)
    for t in range(at_update.last_update + 1, horizon):
        waiting = np.flatnonzero(times == horizon)
        if not len(waiting):
            break
        contexts = (context_at(int(states[row]), t) for row in waiting)
        due = rule.updates(context_at(int(states[waiting[0]]), t), states[waiting])
        if due is None:
            decisions = [decision_at(rule, each, None, spend_all=spend_all) for each in contexts]
        else:
            one = next(contexts)
            decided = [_within_budget(Decision(yes, ""), one, spend_all=spend_all) for yes in (False, True)]
            decisions = [decided[int(yes)] for yes in due]
        times[waiting] = [t if each.update else horizon for each in decisions]
        kinds[waiting] = [int(each.kind) for each in decisions]
    return times, kinds
