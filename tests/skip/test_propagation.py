"""Where a robot believes it is between updates, and how it acts on that."""

import numpy as np
import pytest
from scipy.sparse import issparse

from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.sizes import DEFAULT_SIZES
from replan.model.slip import SlipKernel
from replan.planning.backward_induction import plan, plan_ahead
from replan.planning.ties import Ties
from replan.skip.acting import likeliest, make_propagation

LARGE = DEFAULT_SIZES.whole_world
KERNEL = SlipKernel((3, 3), 0.1)
PLAN = plan(KERNEL, constant(Reward(next_state=np.zeros(9))), time=2, horizon=2)


def test_a_robot_begins_where_it_sees_itself():
    map_robot, belief_robot = (make_propagation(kind, PLAN, KERNEL) for kind in ("map", "belief"))
    assert map_robot.begin([3, 8]).tolist() == [3, 8]
    np.testing.assert_array_equal(belief_robot.begin(np.array([3, 8])), np.eye(9)[[3, 8]])


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_a_robot_acts_on_the_plan_and_the_kernel_of_each_time(execution):
    kernels = [SlipKernel((3, 3), slip) for slip in (0.1, 0.9, 0.5, 0.2)]
    rewards = [Reward(next_state=np.roll(np.arange(9.0), 4 * t)) for t in range(4)]
    made = plan_ahead(kernels.__getitem__, rewards.__getitem__, time=1, end=4, horizon=2)
    robot = make_propagation(execution, made, kernels[1], kernels.__getitem__)
    estimate, belief = robot.begin(np.arange(9)), np.eye(9)
    commands = robot.commands(np.arange(9), begin=1, steps=3)
    for t in (1, 2, 3):
        actions = robot.act(estimate, t)
        np.testing.assert_array_equal(actions, commands[:, t - 1])
        np.testing.assert_array_equal(actions, Ties().choose(belief @ made.at(t).q_values))
        estimate = robot.advance(estimate, actions, t)
        belief = kernels[t].push(belief, actions)
        np.testing.assert_allclose(belief[np.arange(9), likeliest(estimate)], belief.max(axis=1))
        belief = np.eye(9)[estimate] if execution == "map" else belief


def test_the_likeliest_cell_follows_the_action_taken_even_if_it_is_not_the_plans():
    robot, everyone = make_propagation("map", PLAN, KERNEL), np.arange(9)
    for action in range(KERNEL.actions):
        taken = np.full(9, action)
        np.testing.assert_array_equal(
            robot.advance(everyone, taken, 2), KERNEL.most_likely_of(everyone, taken)
        )


def test_before_a_plans_time_its_first_step_is_followed():
    kernels = [SlipKernel((3, 3), slip) for slip in (0.1, 0.9, 0.5, 0.2, 0.3, 0.4)]
    rewards = [Reward(next_state=np.roll(np.arange(9.0), 4 * t)) for t in range(6)]
    made = plan_ahead(kernels.__getitem__, rewards.__getitem__, time=4, end=6, horizon=2)
    robot = make_propagation("map", made, kernels[4], kernels.__getitem__)
    for t in range(5):
        np.testing.assert_array_equal(robot.act(np.arange(9), t), made.policy)
    np.testing.assert_array_equal(robot.row(np.arange(7)), [0, 0, 0, 0, 0, 1, 1])


def test_a_belief_on_a_large_grid_acts_and_moves_as_a_dense_one():
    kernel, size = SlipKernel((51, LARGE // 50), 0.4), 51 * LARGE // 50
    reward = Reward(next_state=np.random.default_rng(0).integers(0, 3, size).astype(float))
    made = plan(kernel, constant(reward), time=2, horizon=2, ties=Ties("random", 3))
    robot, states = make_propagation("belief", made, kernel), np.arange(0, size, 17)
    estimate, dense = robot.begin(states), np.eye(size)[states]
    for t in (2, 3, 4):
        assert issparse(estimate) and estimate.nnz < size
        np.testing.assert_allclose(dense[np.arange(len(states)), likeliest(estimate)], dense.max(axis=1))
        actions = robot.act(estimate, t)
        np.testing.assert_array_equal(actions, made.ties.choose(dense @ made.q_values, plan_time=2))
        assert [robot.act(estimate[[k]], t)[0] for k in range(9)] == actions[:9].tolist()
        estimate, dense = robot.advance(estimate, actions, t), kernel.push(dense, actions)
        np.testing.assert_allclose(estimate.toarray(), dense, atol=1e-12)
