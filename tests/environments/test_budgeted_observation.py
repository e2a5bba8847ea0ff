"""Looking costs budget; in between a learner sees what is old, and nothing else."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from replan.environments import BudgetedObservation, WorldEnvironment
from replan.errors import InputError
from tiny_worlds import random_world


def short_rover(**options):
    return gymnasium.make("replan/Rover-v0", n=4, slip=[0.2] * 8, **options)


def test_it_passes_gymnasiums_checker():
    world = random_world(np.random.default_rng(0), horizon=6)
    check_env(BudgetedObservation(WorldEnvironment(world), budget=2), skip_render_check=True)


def test_it_passes_gymnasiums_checker_round_an_environment_that_gymnasium_made():
    env = BudgetedObservation(gymnasium.make("replan/Rover-v0", n=8), budget=4, price=0.25)
    check_env(env, skip_render_check=True)
    again = gymnasium.make(env.spec)
    assert (again.budget, again.price, again.unwrapped.world.states) == (4, 0.25, 64)


def test_it_goes_round_environments_that_are_not_ours():
    lake = BudgetedObservation(gymnasium.make("FrozenLake-v1"), budget=3)
    assert lake.longest == 100
    observation, _ = lake.reset(seed=0)
    assert observation == {"seen": 0, "age": 0, "budget_left": 3}


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=8, max_size=8), st.integers(0, 4))
def test_what_is_shown_is_the_truth_at_the_last_granted_look(actions, budget):
    open_eyed, budgeted = short_rover(), BudgetedObservation(short_rover(), budget=budget)
    truth = [open_eyed.reset(seed=3)[0]]
    shown = [budgeted.reset(seed=3)[0]]
    rewards, same_rewards = [], []
    for move, look in actions:
        observation, reward, *_ = open_eyed.step(move)
        truth.append(observation)
        rewards.append(reward)
        observation, reward, *_, info = budgeted.step((move, look))
        shown.append(observation)
        same_rewards.append(reward)
        assert info == {"looked": bool(look) and shown[-2]["budget_left"] > 0}
        assert observation in budgeted.observation_space
    assert rewards == same_rewards
    looks = [look for _, look in actions]
    for t, observation in enumerate(shown):
        granted = [0] + [k + 1 for k in range(t) if looks[k] and sum(looks[:k]) < budget]
        assert observation["seen"] == truth[granted[-1]]
        assert observation["age"] == t - granted[-1]
        assert observation["budget_left"] == budget - len(granted) + 1


def test_a_price_is_taken_for_each_granted_look():
    free = BudgetedObservation(short_rover(), budget=1)
    priced = BudgetedObservation(short_rover(), budget=1, price=0.25)
    for env in (free, priced):
        env.reset(seed=5)
    differences = [free.step((0, 1))[1] - priced.step((0, 1))[1] for _ in range(3)]
    assert differences == pytest.approx([0.25, 0.0, 0.0])


def test_the_environments_own_info_is_shown_only_with_a_look():
    lake = BudgetedObservation(gymnasium.make("FrozenLake-v1"), budget=3)
    lake.reset(seed=0)
    assert "prob" not in lake.step((3, 0))[-1]
    assert "prob" in lake.step((3, 1))[-1]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"budget": -1}, "budget must be a whole number of at least 0, not -1"),
        ({"budget": 1.5}, "budget must be a whole number of at least 0, not 1.5"),
        ({"budget": "two"}, "budget must be a whole number of at least 0, not 'two'"),
        ({"budget": 1, "price": -2.0}, "price must be a number and not negative, not -2.0"),
        ({"budget": 1, "price": float("inf")}, "price must be a number and not negative, not inf"),
        ({"budget": 1, "price": "dear"}, "price must be a number and not negative, not 'dear'"),
        ({"budget": 1, "longest": 0}, "longest must be a whole number of at least 1, not 0"),
        ({"budget": 1, "longest": 2.5}, "longest must be a whole number of at least 1, not 2.5"),
    ],
)
def test_bad_options_are_one_clear_line(options, line):
    with pytest.raises(InputError, match=line):
        BudgetedObservation(short_rover(), **options)


def test_an_environment_without_a_length_asks_for_one():
    endless = gymnasium.make("CliffWalking-v1", max_episode_steps=-1)
    with pytest.raises(InputError, match="give longest"):
        BudgetedObservation(endless, budget=1)
    assert BudgetedObservation(endless, budget=1, longest=30).longest == 30


def test_a_flat_environment_takes_a_number_and_shows_a_vector():
    plain = BudgetedObservation(gymnasium.make("replan/Rover-v0", n=4), budget=2)
    flat = BudgetedObservation(gymnasium.make("replan/Rover-v0", n=4), budget=2, flat=True)
    assert isinstance(flat.action_space, spaces.Discrete) and flat.action_space.n == 10
    assert isinstance(flat.observation_space, spaces.Box) and flat.observation_space.dtype == np.float32
    shown, vector = plain.reset(seed=3)[0], flat.reset(seed=3)[0]
    for move, look in ((0, 1), (2, 0), (2, 1), (0, 1)):
        assert flat.observation_space.contains(vector)
        found = spaces.unflatten(plain.observation_space, vector.astype(np.int64))
        assert (found["seen"], found["age"], found["budget_left"]) == (*_ordered(shown),)
        shown, reward, *_ = plain.step((move, look))
        vector, same, *_ = flat.step(2 * move + look)
        assert same == reward


def _ordered(shown):
    return shown["seen"], shown["age"], shown["budget_left"]


def test_what_cannot_be_flat_is_refused():
    with pytest.raises(InputError, match="flat=True needs actions"):
        BudgetedObservation(gymnasium.make("Pendulum-v1"), budget=2, flat=True)
