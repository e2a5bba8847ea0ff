"""The best schedules of a robot whose forecast compares its last two estimates."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.model.sizes import Sizes
from replan.schedule.candidate_table import Problem
from replan.schedule.spending import FIRST_UPDATE
from replan.schedule.update_programme import Programme, solve_between
from replan.skip.commands import commands
from replan.skip.segments import WorldStack, stack_world

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
