"""The programmes behind `optimum`: the best fixed times, and floors that the common programme does not cover.

Fixed update times are found by branch and bound under the values of the best feedback schedule, a
`BestOnward`. The other two programmes find such schedules: for a robot whose forecast compares its last two
estimates, and for a blind robot whose updates take time (`replan.schedule.late_programme` in the world).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.execute.task import Update
from replan.forecast.base import KernelAt, mean_kernel
from replan.model.kernel import Array, Indices, Kernel, constant
from replan.model.sizes import Sizes
from replan.schedule.candidate_table import Problem
from replan.schedule.late_programme import Begun, LateProblem, LateProgramme
from replan.schedule.spending import FIRST_UPDATE
from replan.schedule.update_programme import Programme, solve_between
from replan.skip.propagation import skip_interval
from replan.skip.segments import WorldStack, commands, stack_world


class BestOnward(Protocol):
    """The best feedback schedule after updates at given times."""

    @property
    def values(self) -> Array:
        """(T + 1, S, B + 1) what an update at each time makes of a state; the last column is 1."""
        ...

    def onward(self, time: int, mass: Array) -> tuple[Array, Array]:
        """(T - time + 1,) gains of robots that do not update again, and (T + 1, S) where they go."""
        ...


class FixedSearch:
    """Depth first over fixed schedules, the most promising time first, cut where feedback cannot win."""

    def __init__(
        self,
        mission: Mission,
        programme_after: Callable[[tuple[int, ...]], BestOnward],
        nodes: int,
    ) -> None:
        self.mission, self.programme_after, self.nodes = mission, programme_after, nodes
        self.spend_all, self.price = mission.spending.exact, mission.spending.price or 0.0
        self.times: tuple[int, ...] = ()
        self.value = -np.inf
        self.proved = True

    def extend(self, times: tuple[int, ...], gained: float, mass: Array) -> None:
        """Continue a schedule that has gained so much by its last update, where it sees (S,) `mass`."""
        horizon, last, left = self.mission.horizon, times[-1] if times else 0, self.mission.limit - len(times)
        self.nodes -= 1
        programme = self.programme_after(times)
        more, spread = programme.onward(last, mass)
        if left == 0 or not self.spend_all:
            self._offer(times, gained + float(more[-1]))
        if left == 0:
            return
        spending = self.mission.spending
        earliest = last + (spending.spacing if times else 1)
        latest = max(spending.latest(left, horizon), earliest) if self.spend_all else horizon - 1
        candidates = np.arange(earliest, min(latest, horizon - 1) + 1)
        gains = gained + more - self.price
        bounds = gains[candidates - last] + _worth(programme, spread, candidates, left - 1)
        for i in np.argsort(-bounds, kind="stable"):
            if bounds[i] <= self.value + 1e-12:
                return
            if self.nodes <= 0 and self.times:
                self.proved = False
                return
            u = int(candidates[i])
            if left == 1 and self.spend_all:
                self._offer((*times, u), float(bounds[i]))
            else:
                self.extend((*times, u), float(gains[u - last]), spread[u])

    def _offer(self, times: tuple[int, ...], value: float) -> None:
        if value > self.value:
            self.times, self.value = times, value


def _worth(programme: BestOnward, spread: Array, times: Indices, left: int) -> Array:
    """(U,) what the best feedback schedule makes of the mass that it sees at each of the times."""
    values = programme.values[times]
    worth = np.einsum("us,us->u", spread[times], values[:, :, min(left, values.shape[2] - 2)])
    return worth / np.einsum("us,us->u", spread[times], values[:, :, -1])


NO_SEGMENTS_KEPT = Sizes(entries_kept=0)


class ComparedProgramme:
    """The best schedules of a robot whose forecast depends on its last two estimates.

    How it acts after an update at tau then depends on the update before, e. So the dynamic programme runs
    over (e, tau, updates left, state): V(e, tau, b, s) = max over u of what it gains until u, plus
    V(tau, u, b - 1, s') where it then is.
    """

    def __init__(self, mission: Mission) -> None:
        if mission.spending.price is not None:
            raise InputError(
                f"the optimum with prices is not computed for the forecast {mission.robot.forecast.name}"
            )
        if not mission.sizes.keeps_pairs(mission.world.states, mission.horizon):
            raise InputError(
                f"the optimum with the forecast {mission.robot.forecast.name} is computed up to states x "
                f"steps^2 = {mission.sizes.compared_floor}, not {mission.world.states * mission.horizon**2}"
            )
        self.mission = mission
        world = mission.world
        self._along: WorldStack = stack_world(
            world.kernel, world.reward, first=FIRST_UPDATE, horizon=mission.horizon
        )
        self._columns = mission.limit - 1
        self._best: dict[tuple[int, int], Array] = {}
        self._ahead = lru_cache(maxsize=2 * mission.horizon)(self._values_after)
        self.after = lru_cache(maxsize=64)(self._after)
        for time in range(mission.horizon - 1, FIRST_UPDATE, -1):
            self._solve_at(time)

    def _solve_at(self, time: int) -> None:
        """Find V(e, time, b, s) for every e; robots that act alike have the same."""
        known: dict[bytes, Array] = {}
        for earlier in range(FIRST_UPDATE, time):
            problem = self._problem(earlier, time)
            assert problem.first_actions is not None
            key = problem.first_actions.tobytes()
            if key not in known:
                known[key] = solve_between(problem, time, self._ahead(time), self._columns).best
            self._best[earlier, time] = known[key]

    def _problem(self, earlier: int, time: int) -> Problem:
        """Return the problem after updates at two times; `earlier` 0: there was none before."""
        propagation, everyone = self.mission.update(time, earlier).propagation, np.arange(self._along.states)
        steps = self.mission.horizon - time
        actions = commands(propagation, everyone, begin=time, steps=steps, tolerance=0.0)
        return Problem(
            self._along,
            lambda _: propagation,
            self.mission.spending.exact,
            first_actions=actions,
            sizes=NO_SEGMENTS_KEPT,
        )

    def _after(self, earlier: int, time: int) -> Programme:
        """Return the programme after updates at two times; `earlier` 0: there was none before."""
        return solve_between(self._problem(earlier, time), time, self._ahead(time), self._columns)

    def _values_after(self, time: int) -> Array:
        """(T + 1, S, B + 1) V(time, u, b, s); the last column is 1."""
        values = np.zeros((self.mission.horizon + 1, self.mission.world.states, self._columns + 1))
        for u in range(time + 1, self.mission.horizon):
            values[u, :, :-1] = self._best[time, u][:, : self._columns]
            values[u, :, -1] = 1.0
        return values


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
