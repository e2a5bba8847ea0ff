"""Exact evaluation of look-ahead where every action leads to 14 cells, beside the old ways.

`python -m benchmarks general_kernels`. The old ways walk every plan by itself, and weigh the later updates of
an ensemble anew at every update.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from benchmarks.timing import Row, compare
from replan import Robot, Spending
from replan.evaluation.exact import regret
from replan.execute.mission import Mission
from replan.forecast.base import Evidence, Future
from replan.forecast.given import Given
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.sizes import Sizes
from replan.model.world import World
from replan.schedule.lookahead import Lookahead
from replan.worlds.flow_grid import FlowGrid, goal_distance, heading_velocities


def _flow(horizon: int = 30) -> World:
    """16 x 24 cells in which a vehicle with 8 headings is carried along by waves that travel."""
    grid = FlowGrid((16, 24), np.zeros(16 * 24, dtype=bool))
    row, column = np.divmod(np.arange(grid.states), 24)
    rng = np.random.default_rng(0)
    waves, phases, currents = rng.normal(0, 0.35, (6, 2)), rng.uniform(0, 6.3, 6), rng.normal(0, 0.5, (6, 2))
    pace, sailing = rng.normal(0, 0.25, 6), heading_velocities(8, 0.6)[:, ::-1] * np.array([-1, 1])

    @cache
    def kernel(t: int):
        angles = waves[:, :1] * row + waves[:, 1:] * column + (phases + pace * t)[:, None]
        return grid.kernel(np.sin(angles).T[:, None] @ currents + sailing, np.full((1, 2), 0.09))

    goal = Reward(next_state=-goal_distance(grid.shape, 13 * 24 + 20) / 20)
    return World(horizon, kernel, constant(goal), start=2 * 24 + 2, grid=grid.shape)


class GivenAnew(Given):
    """`Given` whose futures are other functions at every update, so that nothing is kept between updates."""

    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return one for each member."""
        return tuple(
            replace(each, kernel=lambda t, known=each.kernel: known(t)) for each in super().futures(evidence)
        )


def rows() -> list[Row]:
    """Both executions, on one future and on an ensemble of eight."""
    world, found = _flow(), []
    for execution in ("map", "belief"):
        robot = Robot(planning_horizon=20, execution=execution)

        def evaluated(sizes: Sizes, forecast=None, robot=robot):
            acting = robot if forecast is None else replace(robot, forecast=forecast)
            return lambda: regret(Mission(world, acting, Spending.exactly(4), sizes), Lookahead())

        what = f"regret of look-ahead, {execution}, 16 x 24 cells, 9 actions, T=30 B=4"
        apart = evaluated(Sizes(entries_in_tree=0))
        found.append(compare(what, evaluated(Sizes()), "every plan by itself", apart, repeat=1))
        late = tuple(lambda t, k=k: world.kernel(max(t - k, 0)) for k in range(1, 8))
        ensemble = evaluated(Sizes(), Given(world.kernel, members=late))
        anew = evaluated(Sizes(), GivenAnew(world.kernel, members=late))
        what = f"the same on an ensemble of eight, {execution}"
        found.append(compare(what, ensemble, "later updates weighed anew at every update", anew, repeat=1))
    return found
