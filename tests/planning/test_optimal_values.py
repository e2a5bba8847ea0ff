"""Several steps in one pass are the same steps one by one."""

from dataclasses import replace

import numpy as np
import pytest

from replan import TVMDP, Reward, SlipKernel, constant, oracle
from replan.planning import oracle_return
from replan.planning.optimal_values import swept_grid
from replan.worlds import rover


def step_by_step(world):
    values = np.zeros((world.horizon + 1, world.states))
    for t in range(world.horizon - 1, -1, -1):
        values[t] = world.reward(t).q_values(world.kernel(t), values[t + 1]).max(axis=1)
    return values


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (2, 3), (7, 5), (130, 110)])
@pytest.mark.parametrize("horizon", [2, 8, 19])
@pytest.mark.parametrize("walls", [0.0, 0.3])
def test_a_pass_gives_the_values_of_every_step(shape, horizon, walls):
    rng = np.random.default_rng(horizon)
    slips, laws = rng.uniform(0, 0.6, horizon), rng.dirichlet(np.ones(5), horizon)
    reward = Reward(next_state=rng.normal(size=shape).reshape(-1))
    blocked = rng.uniform(size=shape) < walls
    world = TVMDP(
        horizon, lambda t: SlipKernel(shape, slips[t], law=laws[t], blocked=blocked), constant(reward)
    )
    assert swept_grid(world) is not None
    expected = step_by_step(world)
    np.testing.assert_allclose(oracle(world).values, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(oracle_return(world), oracle(world).values[0])


def test_other_worlds_are_not_swept():
    slip = np.linspace(0.1, 0.3, 9)
    plain = rover(4, slip)
    by_action = Reward(state_action=np.ones((16, 5)))
    others = [
        rover(4, slip, terrain=np.linspace(0.5, 1, 16)),
        replace(plain, kernel=lambda t: plain.kernel(t).general()),
        replace(plain, reward=lambda t: Reward(next_state=np.arange(16.0) * t)),
        replace(plain, reward=lambda t: plain.reward(t) if t < 5 else by_action),
    ]
    for world in others:
        assert swept_grid(world) is None
        np.testing.assert_allclose(oracle(world).values, step_by_step(world), rtol=0, atol=1e-12)
        np.testing.assert_array_equal(oracle_return(world), oracle(world).values[0])
