"""The pacing limit L_t of Algorithm 1: the longest time that a paced rule goes without an update."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, inf

from replan.errors import InputError
from replan.schedule.rule import Context, Decision

Pacing = Callable[[Context], float]


def pacing_limit(context: Context) -> int:
    """L_t = ceil((T - t) / b_t)."""
    return ceil((context.horizon - context.time) / context.budget_left)


PACINGS: dict[str, Pacing] = {"even": pacing_limit, "none": lambda context: inf}


def named_pacing(pacing: str | Pacing) -> Pacing:
    """Return the pacing function of that name, or the function itself."""
    if callable(pacing):
        return pacing
    if pacing not in PACINGS:
        raise InputError(f"pacing must be one of {', '.join(PACINGS)} or a function, not {pacing!r}")
    return PACINGS[pacing]


def paced(decision: Decision, context: Context, limit: float) -> Decision:
    """Turn a decision into an update if the last one was `limit` or more steps ago."""
    if decision.update or context.time - context.last_update < limit:
        return decision
    return replace(decision, update=True, reason=f"{limit} steps since the last update: the pacing limit")
