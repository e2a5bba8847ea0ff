"""Look-ahead of a robot that sees where it is: whether an update now is worth more than a later one.

In every future the dynamic programme of `replan.schedule.seeing_programme` is solved once after an update,
for all times until the next one; what an update gains is averaged over the futures.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from replan.forecast.base import Future
from replan.model.kernel import Array, Indices
from replan.planning.backward_induction import Plan, plan, plan_ahead
from replan.schedule.rule import Context
from replan.schedule.seeing_programme import PlanName, SeeingProblem, SeeingProgramme, solve_seeing


def gains_of_updating(context: Context, states: Indices) -> Array:
    """(R,) what an update now gains over the best that can be done without, in the futures expected."""
    total, left = np.zeros(len(states)), min(context.budget_left, context.steps_left)
    for future, programme in _programmes(context):
        updated = programme.updated[context.time, programme.problem.in_force][states, left - 1] - (
            context.price or 0.0
        )
        total += future.weight * (updated - programme.kept[context.time][states, left])
    return total


def _programmes(context: Context) -> list[tuple[Future, SeeingProgramme]]:
    """Return the futures and the best updates in each, kept until the next update."""
    begin = context.earliest_update
    limit = min(context.budget, context.horizon - begin)
    key = gains_of_updating, context.last_update, context.surprise, context.price, limit, context.latency
    if key not in context.cache:
        futures = context.reconsidered()
        told = len(futures) == 1 and not context.reconsiders and bool(context.plan.later)
        context.cache[key] = [
            (future, solve_seeing(_problem(context, future, begin, limit, told=told))) for future in futures
        ]
    return context.cache[key]


def _problem(context: Context, future: Future, begin: int, limit: int, *, told: bool) -> SeeingProblem:
    """Return one future, and the plans of later updates in it.

    Robots that are told the future plan on it, others on the kernel that they see.
    """
    in_force = context.last_update, 0, 0
    made = _told_plan(context, future, begin) if told else _seen_plan(context, future)
    return SeeingProblem(
        future.kernel,
        context.reward,
        lambda name, t: (context.plan if name == in_force else made(name)).at(t).policy,
        compares=False,
        begin=begin,
        horizon=context.horizon,
        in_force=in_force,
        limit=limit,
        price=context.price or 0.0,
        latency=context.latency,
    )


def _told_plan(context: Context, future: Future, begin: int) -> Callable[[PlanName], Plan]:
    """Return the plan on a known future, which is the same whenever it is made."""
    ties, steps = context.plan.ties, context.planning_horizon
    ahead = plan_ahead(
        future.kernel, context.reward, time=begin, end=context.horizon, horizon=steps, ties=ties
    )
    return lambda name: ahead


def _seen_plan(context: Context, future: Future) -> Callable[[PlanName], Plan]:
    """Return a function from update time to the plan on the kernel of the step before, taken to stay."""

    @cache
    def made(name: PlanName) -> Plan:
        time, _, steps = name
        kernel = future.kernel(max(time - 1, context.last_update))
        arrival = min(time + steps, context.horizon - 1)
        horizon = min(context.planning_horizon, context.horizon - arrival)
        return plan(kernel, context.reward, time=arrival, horizon=horizon, ties=context.plan.ties)

    return made
