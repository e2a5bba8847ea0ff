"""Spending the budget: exactly B updates, the first at t = 1, and the pacing limit L_t (Algorithm 1).

Every rule is asked through this file, so no rule can overspend or fall short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from math import ceil, inf

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array
from replan.schedule.rule import Context, Decision, PlansAhead, Rule, draws, explains, plans_ahead

FIRST_UPDATE = 1

Pacing = Callable[[Context], float]


def pacing_limit(context: Context) -> int:
    """L_t = ceil((T - t) / b_t)."""
    return ceil((context.horizon - context.time) / context.budget_left)


PACINGS: dict[str, Pacing] = {"even": pacing_limit, "none": lambda context: inf}


def named_pacing(pacing: str | Pacing) -> Pacing:
    """The pacing function of that name, or the function itself."""
    if callable(pacing):
        return pacing
    if pacing not in PACINGS:
        raise InputError(f"pacing must be one of {', '.join(PACINGS)} or a function, not {pacing!r}")
    return PACINGS[pacing]


def decide(rule: Rule, context: Context, *, exact: bool = True) -> Decision:
    """What the rule says, within the budget. `exact=False` lets it spend less than B."""
    left = context.budget_left
    if left == 0:
        return Decision(False, "the budget is spent")
    decision = rule.decide(context)
    if decision.update:
        return decision
    if exact and left >= context.horizon - context.time:
        return replace(decision, update=True, reason="as many updates are left as steps")
    if rule.paced:
        limit = getattr(rule, "pacing_limit", pacing_limit)(context)
        if context.time - context.last_update >= limit:
            return replace(
                decision, update=True, reason=f"{limit} steps since the last update: the pacing limit"
            )
    return decision


def next_update(
    rule: Rule, context_at: Callable[[int], Context], *, exact: bool = True, explain: bool = True
) -> tuple[int, list[tuple[int, Decision]]]:
    """The next update time after the one that context_at speaks of (T: none), and the decisions till then.

    Without `explain` a time named in advance comes without its decision.
    """
    at_update = context_at(-1)
    tau, horizon, left = at_update.last_update, at_update.horizon, at_update.budget_left
    if left == 0:
        return horizon, []
    if plans_ahead(rule):
        chosen = clamp(rule.next_update(at_update), at_update, exact=exact)
        if not explain or chosen == horizon:
            return chosen, []
        return chosen, [(chosen, planned_decision(rule, context_at(chosen)))]
    decisions = []
    for t in range(tau + 1, horizon):
        decision = decide(rule, context_at(t), exact=exact)
        decisions.append((t, decision))
        if decision.update:
            return t, decisions
    return horizon, decisions


def planned_decision(rule: PlansAhead, context: Context) -> Decision:
    """The decision at a time named in advance, in the rule's own numbers where it explains itself."""
    decision = rule.explain(context) if explains(rule) else Decision(True, "")
    why = decision.reason if decision.update else "as many updates are left as steps"
    return replace(decision, update=True, reason=f"planned at {context.last_update}{why and ': '}{why}")


def next_update_law(rule: Rule, context_at: Callable[[int], Context], *, exact: bool = True) -> Array:
    """(T + 1,) probability of each next update time; entry T: none."""
    at_update = context_at(-1)
    if draws(rule) and at_update.budget_left > 0:
        return rule.next_update_law(at_update)
    law = np.zeros(at_update.horizon + 1)
    law[next_update(rule, context_at, exact=exact, explain=False)[0]] = 1.0
    return law


def clamp(time: int, at_update: Context, *, exact: bool = True) -> int:
    """A planned update time moved into what the budget allows."""
    latest = at_update.horizon - at_update.budget_left if exact else at_update.horizon
    return min(max(int(time), at_update.last_update + 1), latest)


def check_budget(budget: int, horizon: int) -> int:
    """The budget itself, or an `InputError`."""
    if not 1 <= budget <= horizon - 1:
        raise InputError(f"budget must lie between 1 and {horizon - 1} (horizon - 1), not {budget}")
    return budget


def check_times(times: Iterable[int], *, budget: int, horizon: int) -> tuple[int, ...]:
    """Update times as a tuple, or an `InputError` that names what is wrong with them."""
    times = tuple(times)
    if len(times) != budget:
        raise InputError(f"{len(times)} update times given, but the budget is {budget}")
    for t in times:
        if not 1 <= t <= horizon - 1:
            raise InputError(f"update time {t} lies outside 1 to {horizon - 1}")
    for before, after in pairwise(times):
        if after == before:
            raise InputError(f"update time {after} is repeated")
        if after < before:
            raise InputError(f"update time {after} comes after {before}: give them in order")
    if times[0] != FIRST_UPDATE:
        raise InputError(f"the first update is at 1, not {times[0]}")
    return times
