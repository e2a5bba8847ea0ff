"""The solution of the dynamic programme tells where robots go and what they gain on the way."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from replan import Robot, Spending
from replan.errors import InputError
from replan.execute.mission import Mission
from replan.forecast.base import Future
from replan.forecast.given import Given
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.sizes import Sizes
from replan.model.world import World
from replan.schedule.lookahead import Lookahead
from replan.schedule.update_programme import solve
from replan.worlds.slip_grid import rover
from tiny_worlds import tiny_missions


def test_robots_go_on_from_an_update_and_those_in_states_left_out_as_the_others():
    """From 1, looks at 2 and 3 find state 3 with 0.05 * 0.1, which is pruned; state 0 is worth nothing."""
    rows = [[1, 0, 0, 0], [0, 0.95, 0.05, 0], [0, 0, 0.9, 0.1], [0, 0, 0, 1]]
    kernel = GeneralKernel.from_dense(np.array(rows)[:, None])
    world = World(5, constant(kernel), constant(Reward(next_state=np.array([0.0, 1.0, 2.0, 5.0]))))
    mission, rule = Mission(world, Robot(planning_horizon=1), Spending.exactly(3)), Lookahead(tolerance=0.009)
    context = mission.context(rule, mission.progress(1, 2), 0)
    programme = solve(rule.problem(context, context.futures[0]), 1, np.array([0, 1]), 2)
    gained, spread = programme.onward(3, np.array([0.2, 0.4, 0.2, 0.2]))  # as a quarter, a half, a quarter
    first = 0.5 * (0.95 + 0.05 * 2) + 0.25 * (0.9 * 2 + 0.1 * 5)
    second = 0.5 * (0.9025 + 0.0925 * 2 + 0.005 * 5) + 0.25 * (0.81 * 2 + 0.19 * 5)
    assert gained == pytest.approx([0, first, first + second])
    assert spread[4] == pytest.approx([0.25, 0.475, 0.025 + 0.225, 0.025])
    assert not spread[[0, 1, 2, 3, 5]].any()
    assert programme.later is None, "nobody asked for it"


@pytest.mark.parametrize("still", [True, False], ids=["shared", "separate"])
def test_segments_made_in_several_blocks_give_the_same_answers(still):
    slip = np.full(12, 0.2) if still else np.linspace(0.1, 0.4, 12)
    mission, rule = (
        Mission(rover(4, slip), Robot(planning_horizon=3), Spending.exactly(3)),
        Lookahead(tolerance=0.0),
    )
    mission = (
        mission
        if still
        else replace(mission, robot=replace(mission.robot, forecast=Given(mission.world.kernel)))
    )
    context = mission.context(rule, mission.progress(1, 2), 0)
    whole = rule.solve(context, context.futures[0], np.arange(16), 2)
    context = replace(context, sizes=Sizes(entries_at_once=3 * 16 * 12))  # three rows
    parts = rule.solve(context, context.futures[0], np.arange(16), 2)
    np.testing.assert_allclose(parts.best, whole.best, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(parts.next_times, whole.next_times)
    np.testing.assert_allclose(parts.candidates(), whole.candidates(), rtol=0, atol=1e-12)


def solved(mission, time, states, **options):
    rule = Lookahead(tolerance=0.0)
    context = mission.context(rule, mission.progress(time, 2), 0)
    return solve(rule.problem(context, context.futures[0]), time, states, 2, **options)


def test_the_times_after_the_next_one_are_those_of_a_robot_that_has_come_there():
    mission, states = (
        Mission(rover(4, np.full(12, 0.2)), Robot(planning_horizon=3), Spending.exactly(3)),
        np.arange(16),
    )
    later = solved(mission, 1, states, with_later=True).later
    for time in (2, 5, 9):
        np.testing.assert_array_equal(later[time], solved(mission, time, states).next_times[:, :2])


def test_values_between_coarse_times_are_interpolated_or_those_of_the_one_that_is_known():
    mission = Mission(rover(4, np.full(12, 0.2)), Robot(planning_horizon=3), Spending.exactly(3))
    values = solved(mission, 1, np.arange(16), stride=4).values[..., :2]
    for steps in (1, 2, 3):
        expected = (1 - steps / 4) * values[2] + steps / 4 * values[6]
        np.testing.assert_allclose(values[2 + steps], expected, rtol=0, atol=1e-12)
    values = solved(mission, 1, np.array([0]), stride=4).values[..., :2]
    assert not values[2, 10].any(), "two steps away"
    np.testing.assert_allclose(values[3, 10], values[6, 10], rtol=0, atol=1e-12)


def test_values_that_do_not_fit_into_memory_are_refused(monkeypatch):
    mission, rule = (
        Mission(rover(4, np.full(12, 0.2)), Robot(planning_horizon=3), Spending.exactly(3)),
        Lookahead(),
    )
    context = mission.context(rule, mission.progress(1, 2), 0)
    problem = rule.problem(context, context.futures[0])
    monkeypatch.setattr("replan.model.sizes.memory_bytes", lambda: 8 * 13 * 16 * 3)
    with pytest.raises(InputError, match="the value of every update time, state and budget needs"):
        solve(problem, 1, np.arange(16), 2)


@given(tiny_missions(min_horizon=5, max_horizon=8))
def test_later_updates_do_not_act_on_the_plan_in_force(mission):
    """It was made on a forecast, theirs is on what stays; pruning next to nothing must not change that."""
    world = replace(mission.world, reward=constant(mission.world.reward(0)))
    mission = replace(
        mission,
        world=world,
        robot=replace(mission.robot, planning_horizon=2, forecast=Given(world.kernel)),
        spending=Spending.exactly(3),
    )
    context = mission.context(Lookahead(), mission.progress(1, 2), 0)
    still = Future("stays", 1.0, constant(context.kernel))
    exact, pruned = (
        Lookahead(tolerance=tolerance).solve(context, still, np.array([0]), 2) for tolerance in (0.0, 1e-14)
    )
    assert pruned.best == pytest.approx(exact.best, abs=1e-9)
