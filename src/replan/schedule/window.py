"""The part of a large grid that matters to a decision."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from replan.forecast.base import Future
from replan.model.kernel import Indices, constant
from replan.model.reach import Window
from replan.model.slip import SlipKernel
from replan.planning.backward_induction import Plan, plan
from replan.schedule.rule import Context, Need, RunningEstimate
from replan.skip.latency import DelayedPropagation


def within_window(context: Context, states: Indices) -> tuple[Context, Indices]:
    """Return an equal context on the cells that matter to robots in `states` until the end, and these cells.

    Steps lead at most one cell away, and plans look H - 1 steps further than the robot can come. Ties that
    are drawn by state, and forecasts of other kernels than slip on the grid, leave the context as it is.
    """
    kernel, sizes = context.kernel, context.sizes
    if not isinstance(kernel, SlipKernel) or kernel.states <= sizes.whole_world:
        return context, states
    if isinstance(context.propagation, DelayedPropagation):
        return context, states
    steps = context.horizon - context.last_update + context.planning_horizon
    window = Window.around(kernel.shape, states, steps)
    window = context.cache.setdefault((Window, window.corner, window.shape), window)
    times = range(context.last_update, context.horizon)
    if context.plan.ties.kind == "random" or not window.pays(sizes):
        return context, states
    if not all(isinstance(future.kernel(t), SlipKernel) for future in context.futures for t in times):
        return context, states
    return context.within(window), window.inside(states)


@dataclass(frozen=True, eq=False)
class WindowUpdate:
    """An update that could be made now, on a window."""

    plan: Plan
    futures: tuple[Future, ...]
    cache: dict[Any, Any] = field(default_factory=dict)


def around(context: Context, steps: int) -> Context:
    """Return the context on the cells at most `steps` moves away from the present one.

    Its plan in force has the actions of these cells. The context is returned as it is on small maps, on maps
    that the window would nearly fill, on other kernels than slip on a grid, where updates take time, and
    unless the judge plans by backward induction on a kernel that is expected to stay.
    """
    running, reward, ties = context.running, context.reward, context.plan.ties
    kernel, sizes = running.kernel, context.sizes
    if not isinstance(kernel, SlipKernel) or not running.plain or kernel.states <= sizes.whole_world:
        return context
    if not context.latency.instant:
        return context
    window = Window.around(kernel.shape, np.array([context.state]), steps)
    if not window.pays(sizes):
        return context
    part = window.kernel(kernel)
    assert isinstance(part, SlipKernel)

    def reward_at(t: int):
        return window.reward(reward(t))

    def make(steps: int) -> WindowUpdate:
        horizon = min(context.planning_horizon, context.steps_left)
        made = plan(part, reward_at, time=context.time, horizon=horizon, ties=ties)
        return WindowUpdate(made, (Future("stays", 1.0, constant(part)),))

    def cut(whole: Plan) -> Plan:
        now = whole.at(context.time)
        policy, values = window.cut(now.policy), window.cut(now.next_values)
        return Plan(now.time, policy, values, part, reward_at(context.time), ties)

    def judged() -> Plan:
        return kept if running.judged() is context.plan else cut(running.judged())

    kept = cut(context.plan)
    here = int(window.inside(np.array([context.state]))[0])
    given = {**context.given, Need.STATE: here, Need.RUNNING_ESTIMATE: RunningEstimate(part, make, judged)}
    return replace(context, kernel=part, plan=kept, reward=reward_at, given=given)
