"""Contexts on the part of a large grid that robots can reach from the states that a rule is asked about."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from replan.forecast.base import Future, mean_kernel
from replan.model.kernel import Indices
from replan.model.reach import LARGE, Window
from replan.model.slip import SlipKernel
from replan.planning.backward_induction import Plan
from replan.schedule.rule import Context
from replan.skip.propagation import make_propagation


def within_window(context: Context, states: Indices) -> tuple[Context, Indices]:
    """Return an equal context on the cells that matter to robots in `states` until the end, and these cells.

    Steps lead at most one cell away, and plans look H - 1 steps further than the robot can come. Ties that
    are drawn by state, and forecasts of other kernels than slip on the grid, leave the context as it is.
    """
    kernel, states = context.kernel, np.asarray(states, dtype=np.int64)
    if not isinstance(kernel, SlipKernel) or kernel.states <= LARGE or context.plan.ties.kind == "random":
        return context, states
    reach = context.horizon - context.last_update + context.planning_horizon
    window = Window.around(kernel.shape, states, reach)
    if not window.pays or not _on_the_grid(context):
        return context, states
    key = (Window, window.corner, window.shape)
    if key not in context.cache:
        context.cache[key] = _restricted(context, window)
    return replace(context, **context.cache[key]), window.inside(states)


def _on_the_grid(context: Context) -> bool:
    times = range(context.last_update, context.horizon)
    return all(isinstance(future.kernel(t), SlipKernel) for future in context.futures for t in times)


def _cut(futures: tuple[Future, ...], window: Window) -> tuple[Future, ...]:
    return tuple(
        replace(future, kernel=lambda t, at=future.kernel: window.kernel(at(t))) for future in futures
    )


def _restricted(context: Context, window: Window) -> dict[str, Any]:
    """Return the fields of a context that depend on the states, as long as its update is in force."""
    plans = tuple(_plan(each, window) for each in (context.plan, *context.plan.later))
    made = replace(plans[0], later=plans[1:])
    kernel = window.kernel(context.kernel)
    expect = lru_cache(maxsize=None)(lambda now: _cut(context.expect(now), window))
    expected = mean_kernel(expect(made.time)) if made.later else None
    return {
        "kernel": kernel,
        "plan": made,
        "propagation": make_propagation(context.execution, made, kernel, expected),
        "expect": expect,
        "reward": lambda t: window.reward(context.reward(t)),
        "declared_successors": None,
        "family": None,
        "cache": {},
    }


def _plan(plan: Plan, window: Window) -> Plan:
    return Plan(
        plan.time,
        window.cut(plan.policy),
        window.cut(plan.next_values),
        window.kernel(plan.kernel),
        window.reward(plan.reward),
        plan.ties,
    )
