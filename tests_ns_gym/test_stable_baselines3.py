"""Looks that cost, as stable-baselines3 takes them: its own checker, and learners that run on it."""

import gymnasium
import numpy as np
import pytest
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor

from replan.environments import BudgetedObservation
from replan.suite import suite_world

WORLDS = ("rover-switches-4", "crosswind-2", "kernels-5")


def flat(name, **options):
    return BudgetedObservation(gymnasium.make(f"replan/{name}-v1"), budget=3, flat=True, **options)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", WORLDS)
def test_its_checker_has_nothing_to_say(name):
    check_env(flat(name), warn=True)


@pytest.mark.parametrize("learner", [DQN, PPO])
def test_learners_run_and_spend_no_more_looks_than_there_are(learner):
    settings = {"n_steps": 64} if learner is PPO else {"learning_starts": 50}
    env = Monitor(flat("crosswind-2"))
    model = learner("MlpPolicy", env, seed=0, device="cpu", **settings).learn(300)
    observation, info = env.reset(seed=1)
    over, looks, steps = False, 0, 0
    while not over:
        action, _ = model.predict(observation, deterministic=True)
        observation, _, over, _, info = env.step(action)
        looks, steps = looks + info["looked"], steps + 1
    assert looks <= 3 and steps == suite_world("crosswind-2").mission().horizon


def test_the_flat_vector_is_what_the_pair_says():
    env = flat("rover-switches-4")
    env.reset(seed=0)
    observation, *_ = env.step(2 * 0 + 1)
    assert observation.dtype == np.float32 and observation.sum() == pytest.approx(4)  # four parts, one-hot
