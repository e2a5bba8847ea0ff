"""Missions on the part of a large grid that their robot can reach.

T steps lead at most T cells away, and a plan looks at most H - 1 steps further. On a window with that margin
returns, optimal values and plans of every state that the robot can come to are those of the whole world, to
the last digit. Rules still see the whole: their contexts are those of the whole mission.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from replan.execute.mission import Mission
from replan.execute.task import Progress
from replan.forecast.base import Evidence, Forecast, Future
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reach import Window
from replan.model.slip import SlipKernel
from replan.model.world import World
from replan.schedule.rule import Context, Need, Rule


@dataclass(frozen=True, kw_only=True)
class WindowMission(Mission):
    """A mission on a window of its world; states are cells of the window, except those that rules see."""

    whole: Mission = field(repr=False)
    window: Window = field(repr=False)

    @property
    def is_whole(self) -> bool:
        """Whether the world has all states of the mission's: no."""
        return False

    def seen(self, states: Indices) -> Indices:
        """Return the states as rules see them, cells of the whole."""
        return self.window.outside(states)

    def unseen(self, states: Indices) -> Indices:
        """Return cells of the whole as cells of the window."""
        return self.window.inside(states)

    def context(self, rule: Rule, progress: Progress, state: int, time: int | None = None) -> Context:
        """Return the context of the whole mission, for a cell of the whole."""
        whole, update, earlier = self._outside, progress.update, progress.earlier
        before = whole.update(earlier.time) if earlier and Need.EARLIER_ESTIMATE in rule.needs else None
        there = replace(progress, update=whole.update(update.time, update.compared), earlier=before)
        return whole.context(rule, there, state, time)

    @cached_property
    def _outside(self) -> Mission:
        """The whole mission with the spending of this one."""
        same = self.spending == self.whole.spending
        return self.whole if same else self.whole.with_spending(self.spending)


@dataclass(frozen=True)
class WindowForecast(Forecast):
    """The forecast of a whole mission, cut to a window."""

    whole: Mission = field(repr=False)
    window: Window = field(repr=False)

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the whole mission's."""
        return self.whole.robot.forecast.name

    @property
    def compares(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the futures depend on the update before the last one."""
        return self.whole.robot.forecast.compares

    @property
    def reconsiders(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether drift bounds that come in after an update can surprise."""
        return self.whole.robot.forecast.reconsiders

    def surprise(self, drift_bounds: Array, update: int, horizon: int) -> int:
        """Return the time of the last surprise of the whole mission's."""
        return self.whole.task.forecast.surprise(drift_bounds, update, horizon)

    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return the futures of the whole in the window."""
        whole, earlier = self.whole, evidence.earlier
        before = None if earlier is None else (earlier[0], whole.estimate(earlier[0]))
        futures = whole.task.expected(
            evidence.time, whole.estimate(evidence.time), before, len(evidence.drift_bounds)
        )
        return tuple(replace(future, kernel=self._cut(future)) for future in futures)

    def _cut(self, future: Future):
        def kernel(time: int) -> Kernel:
            return self.window.kernel(future.kernel(time))

        return kernel


def is_slip_grid(world: World) -> bool:
    """Return whether every kernel is slip on a grid."""
    return all(isinstance(world.kernel(t), SlipKernel) for t in range(world.horizon))


def expects_next_cells(mission: Mission) -> bool:
    """Return whether the kernels that the robot expects move, like those of the grid, to next cells alone.

    So does all that is combined of slip kernels.
    """
    sources, grid = mission.task.forecast.sources(mission.horizon), mission.world.grid
    return sources is not None and all(
        isinstance(kernel, SlipKernel) and kernel.shape == grid for kernel in sources
    )


def on_window(mission: Mission) -> Mission:
    """Return an equal mission on the window that its robot can reach, or the mission where that gains little.

    Random ties are drawn by state, so such a mission is left as it is; so is one with a forecast that may
    expect longer moves than to the next cell, and one whose world is no grid of slip kernels.
    """
    world, robot = mission.world, mission.robot
    if type(mission) is not Mission or robot.ties.kind == "random":
        return mission
    if world.grid is None:
        return mission
    window = Window.around(world.grid, np.array([world.start]), world.horizon + robot.planning_horizon)
    if not window.pays:
        return mission
    if not is_slip_grid(world) or not expects_next_cells(mission):
        return mission
    if robot.forecast.moves:
        robot = replace(robot, forecast=WindowForecast(mission, window))
    return WindowMission(window.world(world), robot, mission.spending, whole=mission, window=window)
