"""Segments are the skip intervals of every row, kept at every step."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.forecast.given import ForecastFault, Given
from replan.model.reward import Reward
from replan.skip.propagation import skip_interval
from replan.skip.segments import commands, stack_world, walk_segments
from tiny_worlds import tiny_missions


def made(mission, time, *, tolerance=0.0, every=1):
    along = stack_world(mission.world.kernel, mission.world.reward, first=time, horizon=mission.horizon)
    update, states = mission.update(time), np.arange(mission.world.states)
    steps = mission.horizon - time
    actions = commands(update.propagation, states, begin=time, steps=steps, tolerance=tolerance)
    keep = np.arange(steps + 1) % every == 0
    return walk_segments(along, actions, states, begin=time, keep=keep, tolerance=tolerance)


def rewards_of_both_kinds(world):
    by_action = Reward(state_action=np.arange(float(world.states * world.actions)).reshape(world.states, -1))
    by_state = Reward(next_state=np.arange(float(world.states)))
    return replace(world, reward=lambda t: by_action if t % 2 else by_state)


def distribution(parts, row, k, size):
    first = parts.nodes[row, k]
    out = np.zeros(size)
    span = slice(parts.offsets[first], parts.offsets[first + 1])
    out[parts.cells[span]] = parts.masses[span]
    return out


@given(tiny_missions(), st.integers(0, 2), st.booleans(), st.booleans())
def test_segments_equal_pushing_dense_distributions(mission, time, moving, mixed):
    if mixed:
        mission = replace(mission, world=rewards_of_both_kinds(mission.world))
    if moving:
        mission = replace(
            mission, robot=replace(mission.robot, forecast=Given(mission.world.kernel, ForecastFault(late=1)))
        )
    world, states = mission.world, np.arange(mission.world.states)
    parts = made(mission, time)
    gained = np.zeros(len(states))
    how = mission.update(time).propagation
    for step in skip_interval(world.kernel, world.reward, how, states, begin=time, end=mission.horizon):
        k = step.time - time + 1
        gained = gained + step.reward
        np.testing.assert_allclose(parts.gained[:, k], gained, atol=1e-12)
        for row in states:
            np.testing.assert_allclose(distribution(parts, row, k, len(states)), step.after[row], atol=1e-12)


@given(tiny_missions(), st.integers(0, 2))
def test_commands_are_the_actions_of_the_interval(mission, time):
    world, states = mission.world, np.arange(mission.world.states)
    robot = mission.update(time).propagation
    interval = skip_interval(world.kernel, world.reward, robot, states, begin=time, end=mission.horizon)
    actions = np.stack([step.actions for step in interval], axis=1)
    found = commands(robot, states, begin=time, steps=mission.horizon - time, tolerance=0.0)
    np.testing.assert_array_equal(found, actions)


@given(tiny_missions(), st.sampled_from([2, 3]))
def test_distributions_are_kept_for_the_steps_asked_for_alone(mission, every):
    whole, some = made(mission, 1), made(mission, 1, every=every)
    states = mission.world.states
    np.testing.assert_array_equal(some.gained, whole.gained)
    for row in range(states):
        for k in range(1, whole.gained.shape[1]):
            expected = distribution(whole, row, k, states) if k % every == 0 else np.zeros(states)
            np.testing.assert_array_equal(distribution(some, row, k, states), expected)


def pruned(masses, tolerance):
    kept = np.where(masses < tolerance, 0.0, masses)
    return kept / kept.sum() if kept.any() else masses


@given(tiny_missions(), st.sampled_from([0.05, 0.2, 0.4]))
def test_robots_whose_beliefs_are_pruned_too_are_where_the_pruned_segments_say(mission, tolerance):
    world, robot = mission.world, mission.update(1).propagation
    parts = made(mission, 1, tolerance=tolerance)
    for row in range(world.states):
        estimate, mass = robot.begin(np.array([row])), np.eye(world.states)[[row]]
        for t in range(1, mission.horizon):
            actions = robot.act(estimate, t)
            estimate = robot.advance(estimate, actions, t)
            if mission.robot.execution == "belief":
                estimate = pruned(estimate, tolerance)
            mass = pruned(world.kernel(t).push(mass, actions), tolerance)
            np.testing.assert_allclose(distribution(parts, row, t, world.states), mass[0], atol=1e-12)


@given(tiny_missions(), st.integers(0, 2))
def test_a_stack_is_made_without_the_times_before_its_first(mission, first):
    def from_first_on(of_time):
        def at(time):
            assert time >= first
            return of_time(time)

        return at

    world = mission.world
    kernel, reward = from_first_on(world.kernel), from_first_on(world.reward)
    along = stack_world(kernel, reward, first=first, horizon=world.horizon)
    assert len(along.successors) == world.horizon - first


@given(tiny_missions(), st.integers(0, 2))
def test_a_stack_has_the_kernel_of_each_time(mission, first):
    world = mission.world
    along = stack_world(world.kernel, world.reward, first=first, horizon=world.horizon)
    for t in range(first, world.horizon):
        (successors,), (probabilities,) = along.kernel_lists(t)
        dense = np.zeros((world.states, world.actions, world.states))
        np.add.at(dense, (*np.indices(dense.shape[:2])[..., None], successors), probabilities)
        np.testing.assert_array_equal(dense, world.kernel(t).general().dense())


@given(tiny_missions(), st.integers(1, 4))
def test_segments_made_by_several_threads_are_those_of_one(mission, cores):
    one = made(mission, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("replan.skip.segments.SERIAL_BELOW", 0)
        patch.setattr("replan.model.kernel._cores", lambda: cores)
        several = made(mission, 1)
    for name in vars(one):
        np.testing.assert_array_equal(vars(several)[name], vars(one)[name])
