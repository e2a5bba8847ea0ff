"""The tree of plans holds the segments of every plan by itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.model.kernel import constant
from replan.model.sizes import Sizes
from replan.planning.backward_induction import plan
from replan.schedule.lookahead import Lookahead
from replan.schedule.update_programme import solve
from replan.skip.plan_tree import plan_tree
from replan.skip.propagation import make_propagation
from replan.skip.segments import commands, stack_world, walk_segments
from tiny_worlds import tiny_missions

MOST = 10**6
STEADY = tiny_missions().map(
    lambda each: replace(each, world=replace(each.world, reward=constant(each.world.reward(0))))
)


def plans_of(mission, kernel, along):
    """Propagations after updates at 1, 2, ..., with plans for all steps that are left."""
    world, robot = mission.world, mission.robot
    return {
        time: make_propagation(
            robot.execution,
            plan(kernel, world.reward, time=time, horizon=mission.horizon - time, ties=robot.ties),
            kernel,
            stacked=along.kernel_lists(time),
        )
        for time in range(1, mission.horizon)
    }


def dense(parts, row, k, size):
    out, node = np.zeros(size), parts.nodes[row, k]
    span = slice(parts.offsets[node], parts.offsets[node + 1])
    out[parts.cells[span]] = parts.masses[span]
    return out


@given(STEADY, st.sampled_from([0.0, 0.05]))
def test_each_plan_has_the_segments_that_it_has_by_itself(mission, tolerance):
    kernel = mission.world.kernel(0)
    along = stack_world(constant(kernel), mission.world.reward, first=1, horizon=mission.horizon)
    acting, states = plans_of(mission, kernel, along), np.arange(mission.world.states)
    tree = plan_tree(along, acting, tolerance=tolerance, most=MOST)
    assert tree is not None
    for time, propagation in acting.items():
        steps, found = mission.horizon - time, tree.segments(time)
        actions = commands(propagation, states, begin=time, steps=steps, tolerance=tolerance)
        keep = np.ones(steps + 1, dtype=bool)
        alone = walk_segments(along, actions, states, begin=time, keep=keep, tolerance=tolerance)
        np.testing.assert_array_equal(found.gained, alone.gained)
        for row in states:
            for k in range(1, steps + 1):
                np.testing.assert_array_equal(
                    dense(found, row, k, len(states)), dense(alone, row, k, len(states))
                )


@given(STEADY)
def test_there_is_no_tree_where_the_kernel_moves_or_it_would_be_too_large(mission):
    world = mission.world
    still = stack_world(constant(world.kernel(0)), world.reward, first=1, horizon=mission.horizon)
    acting = plans_of(mission, world.kernel(0), still)
    assert plan_tree(still, acting, tolerance=0.0, most=world.states) is None
    moving = stack_world(world.kernel, world.reward, first=1, horizon=mission.horizon)
    if len(moving.successors) > 1:
        assert plan_tree(moving, acting, tolerance=0.0, most=MOST) is None


@pytest.mark.parametrize("told", [True, False])
@given(mission=STEADY)
def test_look_ahead_decides_the_same_with_and_without_the_tree(told, mission):
    found = []
    for sizes in (Sizes(), Sizes(entries_in_tree=0)):
        on, rule = replace(mission, sizes=sizes), Lookahead()
        context = on.context(rule, on.progress(1, on.limit - 1), 0)
        problem = rule.problem(context, context.futures[0], told=told)
        found.append(solve(problem, 1, np.arange(on.world.states), on.limit - 1))
    one, other = found
    assert one.table.tree is not None and other.table.tree is None
    np.testing.assert_array_equal(one.next_times, other.next_times)
    np.testing.assert_array_equal(one.best, other.best)
