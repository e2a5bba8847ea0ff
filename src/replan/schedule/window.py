"""The part of a large grid that matters to a decision of look-ahead."""

from __future__ import annotations

from replan.model.kernel import Indices
from replan.model.reach import Window
from replan.model.slip import SlipKernel
from replan.schedule.rule import Context
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
