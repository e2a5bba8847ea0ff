"""The cells of a large map that one decision of a localised robot depends on.

A plan of H steps depends, in the robot's cell, on the cells within H moves; what a plan gains until T depends
on those within T - t + H. On a slip grid these are windows, and give the same numbers as the whole map.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from replan.forecast.base import Future
from replan.model.kernel import constant
from replan.model.reach import Window
from replan.model.slip import SlipKernel
from replan.planning.backward_induction import Plan, plan
from replan.schedule.rule import Context, Need
from replan.schedule.running_estimate import RunningEstimate


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
    unless an update plans by backward induction on a kernel that is expected to stay.
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

    in_force = context.plan.at(context.time)
    kept = Plan(
        in_force.time,
        window.cut(in_force.policy),
        window.cut(in_force.next_values),
        part,
        reward_at(context.time),
        ties,
    )
    here = int(window.inside(np.array([context.state]))[0])
    given = {**context.given, Need.STATE: here, Need.RUNNING_ESTIMATE: RunningEstimate(part, make)}
    return replace(context, kernel=part, plan=kept, reward=reward_at, given=given)
