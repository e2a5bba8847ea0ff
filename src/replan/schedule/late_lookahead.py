"""Look-ahead where updates take time: the programme of `late_programme` in what the robot expects.

A candidate for the next update is worth what blind execution gains until then, and then what the old plan (or
waiting) gains until the arrival, and so on with all later updates placed best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np

from replan.forecast.base import Future
from replan.model.kernel import Indices, Kernel, constant
from replan.planning.backward_induction import plan, plan_ahead
from replan.schedule.averaged_worth import Candidates, Choices, best_on_average, kept_beside
from replan.schedule.late_programme import Begun, LateProblem, LateProgramme
from replan.schedule.rule import Context
from replan.skip.latency import DelayedPropagation
from replan.skip.propagation import Propagation, make_propagation
from replan.skip.segments import WorldStack, commands, stack_world


def knows_late_updates(context: Context) -> bool:
    """Return whether the programme is solved: updates take time, and the world is small."""
    small = context.sizes.keeps_pairs(context.kernel.states, context.horizon)
    return not context.latency.instant and small


@dataclass(frozen=True)
class Accuracy:
    """Resolution at which a programme is solved."""

    stride: int
    """Distance between the times at which later updates are weighed."""
    tolerance: float
    """Probabilities below this are dropped."""


def weigh_late(
    context: Context, states: Indices, budget_left: int | None, *, still: Accuracy, moving: Accuracy
) -> Choices:
    """Return the best next updates of robots that saw `states`, by updates left.

    Where there are several futures, `still` holds for the one in which nothing moves.
    """
    futures = context.reconsidered()
    if len(futures) == 1 and not context.reconsiders:
        stays = _candidates(context, futures[0], budget_left, still, course=None)
        each = [stays]
    else:
        unmoved = Future("stays", 1.0, constant(context.kernel))
        stays = _candidates(context, unmoved, budget_left, still, course=context.kernel)
        each = [
            stays
            if future.stays(context.kernel, context.last_update, context.horizon)
            else _candidates(context, future, budget_left, moving, course=future.kernel)
            for future in futures
        ]
    worth = np.stack([candidates.worth[states] for candidates in each])
    worth[:, :, : max(context.surprise, context.earliest_update)] = -np.inf
    return best_on_average(worth, futures, stays.only(states))


def _candidates(
    context: Context, future: Future, budget_left: int | None, accuracy: Accuracy, *, course: Any
) -> Candidates:
    """Return the candidates for the next update in one future, for every state seen.

    The values of updates after the next one are kept beside `course`, which stands for the future's kernels;
    without it the robot is told the future.
    """
    begin, earliest = context.last_update, context.earliest_update
    problem = cache(lambda: _problem(context, future, accuracy.tolerance, told=course is None))
    key = (
        *(weigh_late, begin, budget_left, accuracy, context.spending, context.execution, context.latency),
        *(context.planning_horizon, context.horizon, context.plan.ties, context.reward),
    )

    def solved() -> LateProgramme:
        return LateProgramme(begin, budget_left, stride=accuracy.stride).solve(problem())

    programme = solved() if course is None else kept_beside(course, key, solved)
    actions, taken, name = _actions(context, programme.times, accuracy.tolerance, problem)
    if name not in programme.known:
        values = programme.ahead(problem(), taken.__getitem__, earliest)
        programme.known[name] = programme.candidates(problem(), actions, values, earliest)
    return Candidates(*programme.known[name])


def _actions(
    context: Context, times: range, tolerance: float, problem: Callable[[], LateProblem]
) -> tuple[Indices, dict[Begun, Indices], bytes]:
    """Return the actions of the plan in force, kept until the next update.

    (S, L) from the last update on, (S, d) from each time on while an update runs, and their digest.
    """
    key = _actions, times, tolerance, context.last_update, context.latency
    if key not in context.cache:
        begin, everyone = context.last_update, np.arange(context.kernel.states)
        propagation, steps = context.propagation, context.horizon - context.last_update
        acting = propagation.new if isinstance(propagation, DelayedPropagation) else propagation
        actions = commands(propagation, everyone, begin=begin, steps=steps, tolerance=tolerance)
        meanwhile = problem().meanwhile(acting)
        taken = {(u, d): meanwhile((u, d)) for u in times for d, _ in context.latency.durations}
        digest = blake2b(actions.tobytes() + context.earliest_update.to_bytes(4, "little"))
        for each in taken.values():
            digest.update(each.tobytes())
        context.cache[key] = actions, taken, digest.digest()
    return context.cache[key]


def _problem(context: Context, future: Future, tolerance: float, *, told: bool) -> LateProblem:
    """Return the future, and how robots act in it.

    Robots that are told it plan on it, others on what they see.
    """
    along = stack_world(future.kernel, context.reward, first=context.last_update, horizon=context.horizon)
    replans = told and context.plans_ahead
    return LateProblem(
        along,
        acting_on_the_future(context, future) if replans else acting_on_what_is_seen(context, future, along),
        (lambda begun, t: future.kernel(t)) if replans else _seen(context, future),
        context.latency,
        spend_all=context.spending.exact,
        price=context.price or 0.0,
        tolerance=tolerance,
    )


def _seen(context: Context, future: Future) -> Callable[[int, int], Kernel]:
    """(Time of an update, t) -> the kernel that it sees."""
    return lambda begun, t: future.kernel(max(begun - 1, context.last_update))


def acting_on_what_is_seen(
    context: Context, future: Future, along: WorldStack
) -> Callable[[int, int], Propagation]:
    """(Time of an update, its steps) -> propagation on the kernel of the step before, taken to stay."""

    @cache
    def acting(time: int, steps: int) -> Propagation:
        kernel, arrival = future.kernel(time - 1), time + steps
        horizon = min(context.planning_horizon, context.horizon - arrival)
        made = plan(kernel, context.reward, time=arrival, horizon=horizon, ties=context.plan.ties)
        return make_propagation(
            context.execution, made, kernel, constant(kernel), stacked=along.kernel_lists(time - 1),
            sizes=context.sizes,
        )  # fmt: skip

    return acting


def acting_on_the_future(context: Context, future: Future) -> Callable[[int, int], Propagation]:
    """(Time of an update, its steps) -> propagation on kernels that move, one for all times."""

    @cache
    def acting() -> Propagation:
        begin, kernel = context.last_update + 1, future.kernel
        made = plan_ahead(
            kernel, context.reward, time=begin, end=context.horizon, horizon=context.planning_horizon,
            ties=context.plan.ties,
        )  # fmt: skip
        return make_propagation(context.execution, made, kernel(begin), kernel, sizes=context.sizes)

    return lambda time, steps: acting()
