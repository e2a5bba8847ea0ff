"""The best schedules of a robot whose forecast depends on its last two estimates.

How it acts after an update at tau then depends on the update before, e. So the dynamic programme runs over
(e, tau, updates left, state): V(e, tau, b, s) = max over u of what it gains until u, plus
V(tau, u, b - 1, s') where it then is.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.schedule.budget import FIRST_UPDATE
from replan.schedule.update_programme import Problem, Programme, solve_between
from replan.skip.segments import WorldStack, stack_world

LARGEST = 1_000_000
"""States times squared steps up to which the programme is solved."""


class ComparedProgramme:
    """The programmes after every pair of updates."""

    def __init__(self, mission: Mission) -> None:
        if mission.prices is not None:
            raise InputError(
                f"the optimum with prices is not computed for the forecast {mission.forecast.name}"
            )
        if mission.world.states * mission.horizon**2 > LARGEST:
            raise InputError(
                f"the optimum with the forecast {mission.forecast.name} is computed up to states x steps^2 = "
                f"{LARGEST}, not {mission.world.states * mission.horizon**2}"
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
            for earlier in range(FIRST_UPDATE, time):
                self._best[earlier, time] = self._after(earlier, time).best

    def _after(self, earlier: int, time: int) -> Programme:
        """Return the programme after updates at two times; `earlier` 0: there was none before."""
        problem = Problem(
            self._along,
            lambda _: self.mission.update(time, earlier).propagation,
            self.mission.config.must_spend,
        )
        return solve_between(problem, time, self._ahead(time), self._columns)

    def _values_after(self, time: int) -> Array:
        """(T + 1, S, B + 1) V(time, u, b, s); the last column is 1."""
        values = np.zeros((self.mission.horizon + 1, self.mission.world.states, self._columns + 1))
        for u in range(time + 1, self.mission.horizon):
            values[u, :, :-1] = self._best[time, u][:, : self._columns]
            values[u, :, -1] = 1.0
        return values
