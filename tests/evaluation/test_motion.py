"""The compiled walk is the loop that steps one by one, and is used only where it is."""

import numpy as np
import pytest

from replan import Mission, Reward, Robot, SlipKernel, Spending, World
from replan.evaluation.exact import evaluate
from replan.evaluation.rollouts import rollout
from replan.model.kernel import constant
from replan.planning.optimal_values import grid_over_time_of
from replan.schedule.fixed import Random
from replan.schedule.periodic import Periodic

N, HORIZON = 5, 14
SHAPE, STATES = (N, N), N * N
TO_GOAL = -np.add.outer(np.arange(N), np.arange(N))[::-1, ::-1].reshape(-1) / 6
FIELD = np.linspace(0, 0.5, STATES)
BLOCKED = np.isin(np.arange(STATES), [7, 8, 11])
BY_ACTION = np.random.default_rng(0).normal(size=(STATES, 5))


def later(before, after):
    """One thing till t = 4, another from then on."""
    return lambda t: before if t < 5 else after


def kernel(slip: float | np.ndarray = 0.1, **options) -> SlipKernel:
    return SlipKernel(SHAPE, slip, **options)


WALKED = {
    "slip": (later(kernel(0.1), kernel(0.4)), None),
    "slip field": (later(kernel(FIELD), kernel(FIELD[::-1])), None),
    "law": (later(kernel(0.3), kernel(0.3, law=[0, 0.5, 0.5, 0, 0])), None),
    "obstacles that stay": (later(kernel(0.1, blocked=BLOCKED), kernel(0.4, blocked=BLOCKED.copy())), None),
    "next-state reward": (constant(kernel()), lambda t: Reward(next_state=TO_GOAL * (1 + t))),
}
STEPPED = {
    "obstacles that move": (later(kernel(blocked=BLOCKED), kernel(blocked=np.roll(BLOCKED, 5))), None),
    "obstacles that appear": (later(kernel(), kernel(blocked=BLOCKED)), None),
    "a field that appears": (later(kernel(), kernel(FIELD)), None),
    "a general kernel": (later(kernel(), kernel(0.3).general()), None),
    "a reward of the action": (
        constant(kernel()),
        later(Reward(next_state=TO_GOAL), Reward(next_state=TO_GOAL, state_action=BY_ACTION)),
    ),
    "a reward of the action alone": (
        constant(kernel()),
        later(Reward(next_state=TO_GOAL), Reward(state_action=BY_ACTION)),
    ),
}
WORLDS = {
    what: World(HORIZON, kernels, rewards or constant(Reward(next_state=TO_GOAL)))
    for what, (kernels, rewards) in (WALKED | STEPPED).items()
}


@pytest.mark.parametrize("rule", [Periodic(), Random()], ids=["periodic", "random"])
@pytest.mark.parametrize("changes", WORLDS)
def test_rollouts_are_those_of_the_traced_loop_whatever_changes_in_the_world(changes, rule):
    mission, seeds = Mission(WORLDS[changes], Robot(planning_horizon=4), Spending.exactly(3)), np.arange(200)
    traced = rollout(mission, rule, seeds, trace=True)
    np.testing.assert_array_equal(rollout(mission, rule, seeds).returns, traced.returns)


@pytest.mark.parametrize("changes", WORLDS)
def test_rollouts_lie_within_four_standard_errors_of_the_exact_return(changes):
    mission = Mission(WORLDS[changes], Robot(planning_horizon=4), Spending.exactly(3))
    returns = rollout(mission, Periodic(), np.arange(4000)).returns
    exact = evaluate(mission, Periodic()).expected_return
    assert abs(returns.mean() - exact) < 4 * returns.std(ddof=1) / 4000**0.5


@pytest.mark.parametrize("changes", WORLDS)
def test_only_a_grid_whose_moves_stay_is_walked(changes):
    assert (grid_over_time_of(WORLDS[changes]) is not None) == (changes in WALKED)
