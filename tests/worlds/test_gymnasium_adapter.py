"""Gymnasium's toy-text environments: the same law as the environment's own steps."""

import gymnasium
import numpy as np
import pytest

from replan import Robot, Spending
from replan.errors import InputError
from replan.evaluation.exact import regret
from replan.execute.mission import Mission
from replan.planning.optimal_values import oracle
from replan.schedule.periodic import Periodic
from replan.worlds.gymnasium_adapter import from_gymnasium


def test_the_frozen_lake_that_does_not_slip_is_crossed_in_six_steps():
    world = from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=False), horizon=6)
    assert oracle(world).values[:, 0] == pytest.approx([1, 0, 0, 0, 0, 0, 0])


def test_the_cliff_is_passed_in_thirteen_steps():
    world = from_gymnasium(gymnasium.make("CliffWalking-v1"), horizon=30)
    assert (world.states, world.start) == (48, 36)
    assert oracle(world).values[0][36] == pytest.approx(-13.0)


def test_the_taxi_begins_in_any_of_its_300_starts():
    world = from_gymnasium(gymnasium.make("Taxi-v4"), horizon=30)
    assert (world.states, world.actions, len(world.start_states)) == (500, 6, 300)
    # Taxi and passenger at R, to G: pick up, 2 down, 4 right and 2 up round the wall, +20 for the dropoff.
    state = gymnasium.make("Taxi-v4").unwrapped.encode(0, 0, 0, 1)
    assert oracle(world).values[0][state] == pytest.approx(20 - 1 - 8)


@pytest.mark.parametrize(
    ("name", "options"),
    [("FrozenLake-v1", {}), ("CliffWalking-v1", {"is_slippery": True}), ("Taxi-v4", {"is_rainy": True})],
)
def test_steps_of_the_environment_follow_the_kernel_and_are_paid_its_reward(name, options):
    environment = gymnasium.make(name, **options)
    world = from_gymnasium(environment, horizon=20)
    best = oracle(world)
    inner = environment.unwrapped
    inner.reset(seed=4)
    returns = []
    for _ in range(800):
        inner.s, total = world.start, 0.0
        for t in range(20):
            action = int(best.q_values(t)[inner.s].argmax())
            _, reward, ended, _, _ = inner.step(action)
            total += reward
            if ended:
                break
        returns.append(total)
    error = np.std(returns) / len(returns) ** 0.5
    assert error > 0
    assert abs(np.mean(returns) - best.values[0][world.start]) < 4 * error


def test_a_list_of_environments_drifts():
    lakes = [gymnasium.make("FrozenLake-v1", success_rate=rate) for rate in np.linspace(1.0, 0.5, 12)]
    world = from_gymnasium(lakes)
    assert world.horizon == 12
    assert world.drift_bounds == pytest.approx(np.full(11, 0.5 / 11))
    assert regret(Mission(world, Robot(planning_horizon=12), Spending.exactly(3)), Periodic()) > 0


def test_the_horizon_is_the_environments_own_unless_it_is_given():
    assert from_gymnasium(gymnasium.make("FrozenLake-v1")).horizon == 100
    assert from_gymnasium(gymnasium.make("FrozenLake-v1"), horizon=9).horizon == 9
    with pytest.raises(InputError, match="give a horizon"):
        from_gymnasium(gymnasium.make("CliffWalking-v1").unwrapped)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("CartPole-v1", "the observations of CartPole-v1 are Box, not Discrete"),
        ("Blackjack-v1", "the observations of Blackjack-v1 are Tuple, not Discrete"),
        ("Pendulum-v1", "the observations of Pendulum-v1 are Box"),
    ],
)
def test_continuous_environments_get_one_clear_line(name, line):
    with pytest.raises(InputError, match=line) as raised:
        from_gymnasium(gymnasium.make(name), horizon=10)
    assert "\n" not in str(raised.value)


def test_an_environment_without_a_model_gets_one_clear_line():
    class Mute(gymnasium.Env):
        observation_space = gymnasium.spaces.Discrete(3)
        action_space = gymnasium.spaces.Discrete(2)

    with pytest.raises(InputError, match=r"^Mute has no model table P: its kernel cannot be read$"):
        from_gymnasium(Mute(), horizon=5)
    with pytest.raises(InputError, match="int is not a Gymnasium environment"):
        from_gymnasium(3, horizon=5)  # type: ignore[arg-type]
