"""What look-ahead weighs on a part of a large grid is as on the whole, cell by cell."""

from dataclasses import replace

import numpy as np
import pytest

from replan.execute.mission import Mission
from replan.execute.robot import Robot
from replan.forecast.base import Frozen
from replan.forecast.given import Given
from replan.forecast.trend import Trend
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.planning.ties import Ties
from replan.schedule.lookahead import Lookahead
from replan.schedule.spending import Spending
from replan.schedule.window import within_window
from replan.worlds.slip_grid import rover

SIZE, START, HORIZON, PLANNED = 60, (30, 29), 7, 2


def large_grid(*, size=SIZE, **options):
    """Slip that rises, and differs from cell to cell."""
    terrain = np.random.default_rng(0).uniform(0.2, 1, (size, size))
    slip = np.linspace(0.1, 0.8, HORIZON)
    world = rover(size, slip, start=START, goal=(33, 33), terrain=terrain)
    return Mission(world, Robot(planning_horizon=PLANNED, **options), Spending.exactly(4))


def at_update(mission, time=3):
    return mission.context(Lookahead(), mission.progress(time, 2, 1), mission.world.start)


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("forecast", [Frozen(), Trend()])
def test_a_context_in_a_window_is_that_of_the_whole_grid(forecast, execution):
    context = at_update(large_grid(forecast=forecast, execution=execution, ties=Ties("last")))
    paid = context.reward(0).next_state
    context = replace(context, reward=lambda t: Reward(next_state=paid * t))
    states = START[0] * SIZE + START[1] + np.arange(2)
    part, inside = within_window(context, states)
    reach = HORIZON - 3 + PLANNED
    rows, columns = (np.arange(place - reach, place + reach + 1) for place in START)
    cells = np.add.outer(SIZE * rows, np.append(columns, columns[-1] + 1)).reshape(-1)
    np.testing.assert_array_equal(cells[inside], states)
    np.testing.assert_array_equal(part.kernel.slip, context.kernel.slip[cells])
    for t in range(3, HORIZON):
        np.testing.assert_array_equal(part.reward(t).next_state, context.reward(t).next_state[cells])
        kernels = [each.futures[0].kernel(t) for each in (part, context)]
        np.testing.assert_array_equal(kernels[0].slip, kernels[1].slip[cells])
    assert len(part.plan.later) == len(context.plan.later)
    for ours, theirs in zip((part.plan, *part.plan.later), (context.plan, *context.plan.later), strict=True):
        assert ours.time == theirs.time
        np.testing.assert_array_equal(ours.policy, theirs.policy[cells])
        assert ours.ties == theirs.ties == Ties("last")
    assert commands(part, inside) == commands(context, states)
    again, _ = within_window(context, states)
    assert again.kernel is part.kernel and again.cache is part.cache is not context.cache
    other, _ = within_window(context, states + SIZE)
    np.testing.assert_array_equal(other.kernel.slip, context.kernel.slip[cells + SIZE])


def commands(context, states):
    estimate, actions = context.propagation.begin(states), []
    for t in range(3, HORIZON):
        taken = context.propagation.act(estimate, t)
        estimate = context.propagation.advance(estimate, taken, t)
        actions.append(taken.tolist())
    return actions


def test_small_grids_and_ties_drawn_by_state_are_left_whole():
    for mission in (large_grid(size=50), large_grid(ties=Ties("random"))):
        assert is_left_whole(mission)


def test_what_may_move_further_than_to_the_next_cell_is_left_whole():
    mission = large_grid()
    anywhere = constant(mission.world.kernel(0).general())
    assert is_left_whole(replace(mission, robot=replace(mission.robot, forecast=Given(anywhere))))
    assert is_left_whole(replace(mission, world=replace(mission.world, kernel=anywhere)))
    assert not is_left_whole(mission)


def is_left_whole(mission):
    context = at_update(mission)
    return within_window(context, np.array([mission.world.start]))[0] is context
