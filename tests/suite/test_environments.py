"""The worlds of the suite in Gymnasium."""

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import replan.suite.environments  # noqa: F401  (registers them)
from replan.suite import suite_world


@pytest.mark.parametrize("name", ["rover-sines-3", "kernels-1003", "nsbridge-05", "two-burst"])
def test_worlds_of_the_suite_are_registered_with_their_length(name):
    env, world = gymnasium.make(f"replan/{name}-v1"), suite_world(name)
    assert env.spec.max_episode_steps == world.mission().horizon
    check_env(env.unwrapped)
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(world.mission().horizon)]
    assert [terminated for terminated, _ in ends] == [False] * (len(ends) - 1) + [True]
    assert not any(truncated for _, truncated in ends[:-1])
