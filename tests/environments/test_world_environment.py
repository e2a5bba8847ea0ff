"""The worlds as Gymnasium environments: Gymnasium's own checker, and the same law as the world itself."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import replan.environments  # noqa: F401  (registers)
from replan.environments import WorldEnvironment
from replan.environments.world_environment import SETTINGS
from replan.errors import InputError
from replan.planning.optimal_values import oracle
from tiny_worlds import random_world


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("name", SETTINGS)
def test_registered_environments_pass_gymnasiums_checker(name):
    check_env(gymnasium.make(name).unwrapped)


def test_an_environment_can_be_named_with_the_module_that_registers_it():
    named = "gymnasium.make('replan.environments:replan/Rover-v0', n=3)"
    script = f"import gymnasium; print({named}.unwrapped.world.states)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "9"


def test_importing_replan_does_not_import_gymnasium():
    script = "import sys, replan; print('gymnasium' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_options_reach_the_world():
    env = gymnasium.make("replan/Rover-v0", n=4, slip=[0.0] * 9).unwrapped
    assert (env.world.states, env.horizon) == (16, 9)


def test_an_unknown_option_is_one_clear_line():
    with pytest.raises(InputError, match="unknown key 'size'"):
        gymnasium.make("replan/Rover-v0", size=4)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"horizon": 0}, "'horizon' .* greater than or equal to 2, not 0"),
        ({"horizon": 1.5}, "'horizon' .* integer, .*not 1.5"),
        ({"n": -1}, "'n' .* greater than or equal to 2, not -1"),
        ({"n": "many"}, "'n' .* integer, not 'many'"),
        ({"slip": ["a", "b"]}, r"slip must be an array of numbers, not \['a', 'b'\]"),
        ({"obstacles": [(1,)]}, "'obstacles.0' .* 2 items"),
    ],
)
def test_an_option_that_makes_no_world_is_one_clear_line(options, line):
    with pytest.raises(InputError, match=line):
        gymnasium.make("replan/Rover-v0", **options)


def test_part_of_a_lake_is_refused():
    with pytest.raises(InputError, match=r"'wind.lakes' .* integer, .*not 1\.5"):
        gymnasium.make("replan/Crosswind-v0", lakes=1.5)


def test_numbers_of_numpy_and_parameters_of_a_section_are_options_too():
    env = gymnasium.make("replan/ThinIce-v0", n=np.int64(9), horizon=7, river=5, slip=0.0).unwrapped
    assert env.world.states == 81
    goal = gymnasium.make("replan/Terrain-v0", goal=(11, 3)).unwrapped.world
    assert goal.reward(0).next_state.argmax() == 11 * 12 + 3
    with pytest.raises(InputError, match="'slip' must be a number"):
        gymnasium.make("replan/ThinIce-v0", slip=[0.1, 0.2])


def test_an_episode_ends_with_the_horizon_and_no_earlier():
    env = WorldEnvironment(random_world(np.random.default_rng(0), horizon=5))
    observation, _ = env.reset(seed=1)
    ended = []
    for t in range(5):
        assert observation["time"] == t
        observation, _, terminated, truncated, _ = env.step(0)
        assert not truncated
        ended.append(terminated)
    assert ended == [False] * 4 + [True]
    with pytest.raises(InputError, match="all 5 steps have been taken"):
        env.step(0)


def test_the_mean_return_of_the_best_policy_is_the_oracles_value():
    world = random_world(np.random.default_rng(5), states=3, actions=2, horizon=4)
    best = oracle(world)
    env = WorldEnvironment(world)
    returns = []
    for episode in range(1500):
        observation, _ = env.reset(seed=11 if episode == 0 else None)
        total, over = 0.0, False
        while not over:
            action = int(best.q_values(int(observation["time"]))[observation["state"]].argmax())
            observation, reward, over, _, _ = env.step(action)
            total += reward
        returns.append(total)
    error = np.std(returns) / len(returns) ** 0.5
    assert error > 0
    assert abs(np.mean(returns) - best.values[0][world.start]) < 4 * error


def test_reset_can_start_elsewhere():
    env = gymnasium.make("replan/Rover-v0", n=4)
    observation, _ = env.reset(options={"state": 7})
    assert observation["state"] == 7
    for state in (16, -1, 1.5, "7", None):
        with pytest.raises(InputError, match=f"state {state!r} is not a state"):
            env.reset(options={"state": state})


def test_a_grid_is_drawn_with_the_robot_in_its_cell():
    env = gymnasium.make("replan/Rover-v0", n=3, slip=[0.0] * 4, render_mode="ansi")
    env.reset(seed=0)
    env.step(2)  # down
    assert env.render() == "t=1\n...\nR..\n..."


def test_a_grid_is_a_picture_too():
    env = gymnasium.make("replan/Rover-v0", n=4, render_mode="rgb_array")
    env.reset(seed=0, options={"state": 6})
    picture = env.render()
    assert picture.dtype == np.uint8 and picture.shape == (64, 64, 3)
    coloured = np.argwhere((picture != picture[:, :, :1]).any(axis=2))  # all else is grey
    assert (coloured // 16 == [1, 2]).all() and len(coloured) > 50
    corner = picture[63, 63, 0]
    assert corner == picture[:, :, 0].max() == 255  # the goal
    with pytest.raises(InputError, match="render_mode must be one of"):
        WorldEnvironment(random_world(np.random.default_rng(0)), render_mode="rgb_array")
