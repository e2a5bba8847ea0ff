"""The floor of a blind robot whose updates take time: `replan.schedule.late_programme` in the world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from replan.execute.mission import Mission
from replan.execute.progress import Update
from replan.forecast.base import KernelAt, mean_kernel
from replan.model.kernel import Array, Indices, Kernel, constant
from replan.schedule.late_programme import Begun, LateProblem, LateProgramme
from replan.schedule.spending import FIRST_UPDATE
from replan.skip.commands import commands
from replan.skip.propagation import skip_interval
from replan.skip.segments import stack_world

TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class LateFloor:
    """The best schedules of a mission, from its start."""

    mission: Mission

    @cached_property
    def problem(self) -> LateProblem:
        """The world, and how the robot acts in it."""
        mission, world = self.mission, self.mission.world
        return LateProblem(
            stack_world(world.kernel, world.reward, first=0, horizon=mission.horizon),
            lambda time, steps: mission.update(time, 0, steps).propagation,
            self._kernel_at,
            mission.task.latency,
            spend_all=mission.spending.exact,
            price=mission.spending.price or 0.0,
            tolerance=TOLERANCE,
        )

    def _kernel_at(self, begun: int, time: int) -> Kernel:
        return self._expected(begun)(time)

    @cached_property
    def _expected(self):
        """Time of an update -> the kernels that it expects."""
        moves = self.mission.task.forecast.moves

        def expected(begun: int) -> KernelAt:
            update = self.mission.update(begun)
            return mean_kernel(update.futures) if moves else constant(update.kernel)

        return lru_cache(maxsize=None)(expected)

    @cached_property
    def programme(self) -> LateProgramme:
        """The values of all updates."""
        counts = not self.mission.spending.exact
        return LateProgramme(0, self.mission.spending.limit, counts=counts).solve(self.problem)

    @cached_property
    def free_plan(self) -> Update:
        """The plan of t = 0."""
        return self.mission.update(0)

    @cached_property
    def _meanwhile(self) -> Callable[[Begun], Indices]:
        """The actions of the free plan while an update runs."""
        return self.problem.meanwhile(self.free_plan.propagation)

    @cached_property
    def values(self) -> Array:
        """(T + 1, S, B + 1) value of the first update at each time and state; the last column is 1."""
        return self.programme.ahead(self.problem, self._meanwhile, FIRST_UPDATE)

    @cached_property
    def objectives(self) -> Array:
        """(B,) the greatest objective from the start with 1 to B updates; (1,) without a limit."""
        if self.mission.spending.first_is_forced:
            gained, mass = self._opening
            return gained + mass @ self.values[FIRST_UPDATE, :, :-1]
        return self._from_start.max(axis=0)

    @cached_property
    def updates(self) -> float:
        """Expected number of updates behind the last objective."""
        if self.mission.spending.exact:
            return float(self.mission.limit)
        counts = self.programme.ahead(self.problem, self._meanwhile, FIRST_UPDATE, part="counts")
        if self.mission.spending.first_is_forced:
            return 1.0 + float(self._opening[1] @ counts[FIRST_UPDATE, :, -2])
        first = int(self._from_start[:, -1].argmax())
        if first == self.mission.horizon:
            return 0.0
        _, spread = self.after(()).onward(
            0, np.eye(1, self.mission.world.states, self.mission.world.start)[0]
        )
        return 1.0 + float(spread[first] @ counts[first, :, -2])

    @cached_property
    def _from_start(self) -> Array:
        """(T + 1, B) value of each first update from the start state."""
        horizon, everyone = self.mission.horizon, np.arange(self.mission.world.states)
        propagation = self.free_plan.propagation
        actions = commands(propagation, everyone, begin=0, steps=horizon, tolerance=TOLERANCE)
        _, worth, _ = self.programme.candidates(self.problem, actions, self.values, FIRST_UPDATE)
        return worth[self.mission.world.start]

    @cached_property
    def _opening(self) -> tuple[float, Array]:
        """Expected reward of the free step, and (S,) where the robot is at 1."""
        world, start = self.mission.world, np.array([self.mission.world.start])
        propagation = self.free_plan.propagation
        (step,) = skip_interval(world.kernel, world.reward, propagation, start, begin=0, end=FIRST_UPDATE)
        return float(step.reward[0]), step.after[0]

    def after(self, times: tuple[int, ...]) -> LateAfter:
        """Return the best way on after updates at fixed times, of a fixed duration."""
        if not times:
            return LateAfter(self.mission, self.free_plan, self.values)
        ((steps, _),) = self.mission.task.latency.durations
        *before, last = times
        old = (before[-1], 0, steps) if before else self.free_plan.name
        update = self.mission.delayed((last, 0, steps), old)
        return LateAfter(self.mission, update, self._after(last, steps))

    @cached_property
    def _after(self):
        """(Time of an update, its steps) -> (T + 1, S, B + 1) values of later ones."""
        return lru_cache(maxsize=64)(lambda time, steps: self.programme.after(self.problem, (time, steps)))


@dataclass(frozen=True, eq=False)
class LateAfter:
    """The best way on after an update, as the search for fixed times asks for it."""

    mission: Mission
    update: Update
    values: Array = field(repr=False)
    """(T + 1, S, B + 1) what an update at each time makes of a state; the last column is 1."""

    def onward(self, time: int, mass: Array) -> tuple[Array, Array]:
        """(T - time + 1,) gains of robots that do not update again, and (T + 1, S) where they go."""
        world, rows = self.mission.world, np.flatnonzero(mass)
        gained, spread = [0.0], np.zeros((world.horizon + 1, world.states))
        spread[time] = mass
        weights = mass[rows]
        for step in skip_interval(
            world.kernel, world.reward, self.update.propagation, rows, begin=time, end=world.horizon
        ):
            gained.append(gained[-1] + float(weights @ step.reward))
            spread[step.time + 1] = weights @ step.after
        return np.array(gained), spread
