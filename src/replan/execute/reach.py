"""Missions on the part of a large world that their robot can reach.

The robot makes T steps, and a plan looks at most H - 1 steps further. On the states to which these can lead
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
from replan.model.kernel import Array, Indices
from replan.model.reach import Reach, Window
from replan.model.slip import SlipKernel
from replan.schedule.rule import Context, Need, Rule


@dataclass(frozen=True, kw_only=True)
class ReachMission(Mission):
    """A mission on a part of its world; states are those of the part, except those that rules see."""

    whole: Mission = field(repr=False)
    reach: Reach = field(repr=False)

    @property
    def is_whole(self) -> bool:
        """Whether the world has all states of the mission's: no."""
        return False

    @property
    def is_slip_grid(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether every kernel is slip on a grid."""
        return isinstance(self.reach, Window)

    def seen(self, states: Indices) -> Indices:
        """Return the states as rules see them: of the whole, or of the part where the robot is localised."""
        return states if self.robot.sees else self.reach.outside(states)

    def unseen(self, states: Indices) -> Indices:
        """Return states that rules see as states of the part."""
        return states if self.robot.sees else self.reach.inside(states)

    def context(self, rule: Rule, progress: Progress, state: int, time: int | None = None) -> Context:
        """Return the context of the whole mission, for a state of the whole.

        Rules of a localised robot are asked at every step, and so on the part, for a state of the part.
        """
        if self.robot.sees:
            return super().context(rule, progress, state, time)
        whole, update, earlier = self._outside, progress.update, progress.earlier
        before = whole.update(earlier.time) if earlier and Need.EARLIER_ESTIMATE in rule.needs else None
        there = replace(progress, update=whole.same_update(update), earlier=before)
        return whole.context(rule, there, state, time)

    @cached_property
    def _outside(self) -> Mission:
        """The whole mission with the spending of this one."""
        same = self.spending == self.whole.spending
        return self.whole if same else self.whole.with_spending(self.spending)


@dataclass(frozen=True)
class ReachForecast(Forecast):
    """The forecast of a whole mission, cut to a part of the states."""

    whole: Mission = field(repr=False)
    reach: Reach = field(repr=False)

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
        """Return the futures of the whole on the part."""
        whole, earlier = self.whole, evidence.earlier
        before = None if earlier is None else (earlier[0], whole.estimate(earlier[0]))
        futures = whole.task.expected(
            evidence.time, whole.estimate(evidence.time), before, len(evidence.drift_bounds)
        )
        return tuple(future.within(self.reach) for future in futures)


def on_reach(mission: Mission) -> Mission:
    """Return an equal mission on the states that its robot can reach, or the mission if that gains little.

    Random ties are drawn by state, so such a mission is left as it is; so is one with a forecast that does
    not tell where it expects to be led.
    """
    if type(mission) is not Mission or mission.robot.ties.kind == "random":
        return mission
    reach = find_reach(mission)
    if reach is None or not reach.pays(mission.sizes):
        return mission
    robot = mission.robot
    if robot.forecast.moves:
        robot = replace(robot, forecast=ReachForecast(mission, reach))
    return ReachMission(
        reach.world(mission.world), robot, mission.spending, mission.sizes, whole=mission, reach=reach
    )


def find_reach(mission: Mission) -> Reach | None:
    """Return the states that robot and plans can meet, by all kernels of the world and of the forecast.

    On a grid of slip kernels it is a window, elsewhere the states that successors lead to. None: unknown, or
    the grid is too small for a window to pay.
    """
    world, expected = mission.world, mission.task.forecast.sources(mission.horizon)
    steps = world.horizon + mission.robot.planning_horizon
    if expected is None:
        return None
    if world.grid is not None and isinstance(world.kernel(0), SlipKernel):
        window = Window.around(world.grid, np.array([world.start]), steps)
        on_grid = window.pays(mission.sizes) and mission.is_slip_grid
        nearby = (isinstance(each, SlipKernel) and each.shape == world.grid for each in expected)
        return window if on_grid and all(nearby) else None
    lists: list[Indices] = []
    for kernel in (*(world.kernel(t) for t in range(world.horizon)), *expected):
        successors = kernel.general().successors
        if not any(successors is known or np.array_equal(successors, known) for known in lists):
            lists.append(successors)
    return Reach.from_start(lists, world.start, steps).in_order()
