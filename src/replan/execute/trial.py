"""Checks of an agent at construction: whatever could not work in the mission is refused here."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from replan.errors import InputError
from replan.execute.config import AgentConfig, Progress
from replan.model.general_kernel import prepare_kernel
from replan.schedule.ask import decision_at, named_update
from replan.schedule.budget import FIRST_UPDATE
from replan.schedule.rule import Need, Rule, require_instance


def check_limits(time_limit: float | None, log_length: int | None) -> None:
    """Raise `InputError` if the limits of an agent are not above zero."""
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time_limit must be a positive number of seconds, not {time_limit}")
    if log_length is not None and log_length < 1:
        raise InputError(f"log_length must be at least 1, not {log_length}")


def require_rule(config: AgentConfig, rule: Rule) -> None:
    """Raise `InputError` if the rule is not an instance, or needs what the agent does not have."""
    require_instance(rule)
    if Need.CURRENT_KERNEL in rule.needs and config.current_kernel is None:
        raise InputError(f"the rule {rule.name} needs current_kernel")
    if Need.BUDGET in rule.needs:
        config.limit_for(rule)


def try_out(config: AgentConfig, rule: Rule, *, seed: int | None) -> None:
    """Make one plan, one step and one decision, which compiles or loads all that a mission needs."""
    prepare_kernel(config.nominal)
    made = config.make_update(0, config.nominal)
    estimate = made.propagation.begin(np.array([0]))
    made.propagation.advance(estimate, made.propagation.act(estimate, 0), 0)
    first = FIRST_UPDATE if config.prices is None else 0
    update = replace(made, time=first)
    looks, plans = config.budgets
    progress = Progress(update, looks - first, plans_left=plans - first)
    if progress.budget_left == 0:
        return
    context = partial(config.context, rule, progress, 0)
    try:
        named = named_update(rule, context(), 0, seed=seed, spend_all=config.must_spend)
        decision_at(rule, context(first + 1), named, spend_all=config.must_spend)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"the rule {rule.name} cannot decide: {type(error).__name__}: {error}") from error
