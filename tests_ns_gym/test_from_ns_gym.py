"""NS-Gym's own environments as worlds: the drift it was told, the law it then follows, the rules on top."""

import gymnasium
import numpy as np
import pytest
from ns_gym.schedulers import ContinuousScheduler, PeriodicScheduler
from ns_gym.update_functions import (
    DistributionDecrementUpdate,
    IncrementUpdate,
    RandomCategorical,
)
from ns_gym.wrappers import (
    NSBridgeWrapper,
    NSClassicControlWrapper,
    NSCliffWalkingWrapper,
    NSFrozenLakeWrapper,
)

from replan import Robot, Spending
from replan.errors import InputError
from replan.evaluation.exact import regret
from replan.execute.mission import Mission
from replan.model.checks import check_world
from replan.planning.optimal_values import oracle
from replan.schedule.registry import make_rule
from replan.worlds.gymnasium_adapter import from_ns_gym

HORIZON = 16
EVERY, STEP = 4, 0.1


def falling(every=EVERY):
    """The probability of the intended move falls by 0.1 at t = 0, 4, 8, 12."""
    return {"P": DistributionDecrementUpdate(PeriodicScheduler(every), k=STEP)}


def frozen_lake(**options):
    base = gymnasium.make("FrozenLake-v1", is_slippery=False)
    return NSFrozenLakeWrapper(base, options.pop("drift", falling()), initial_prob_dist=[1, 0, 0], **options)


def cliff(**options):
    return NSCliffWalkingWrapper(
        gymnasium.make("CliffWalking-v1"), falling(), initial_prob_dist=[1, 0, 0, 0], **options
    )


def bridge():
    return NSBridgeWrapper(gymnasium.make("ns_gym/Bridge-v0"), falling(), initial_prob_dist=[1, 0, 0])


MAKERS = {"FrozenLake": frozen_lake, "CliffWalking": cliff, "Bridge": bridge}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_drift_is_the_one_that_ns_gym_was_told(make):
    world = from_ns_gym(make(), horizon=HORIZON)
    assert check_world(world) == []
    jumps = np.flatnonzero(world.drift_bounds > 1e-12)
    assert jumps.tolist() == [3, 7, 11]
    assert world.drift_bounds[jumps] == pytest.approx(STEP)


def test_the_lakes_first_kernel_is_that_of_the_first_step():
    world = from_ns_gym(frozen_lake(), horizon=HORIZON)
    # The change at t = 0 comes before the move: from 0, right leads to 1 with 0.9, else down to 4 or up to 0
    assert world.kernel(0).general().dense()[0, 2, [1, 4, 0]] == pytest.approx([0.9, 0.05, 0.05])
    assert world.kernel(HORIZON - 1).general().dense()[0, 2, 1] == pytest.approx(0.6)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_episodes_of_ns_gym_earn_what_the_world_says(make):
    world = from_ns_gym(make(), horizon=HORIZON)
    best = oracle(world)
    np.random.seed(2)
    returns = []
    for episode in range(300):
        environment = make()  # fresh: a second reset would keep the last table of the episode before
        observation, _ = environment.reset(seed=episode)
        total = 0.0
        for t in range(HORIZON):
            action = int(best.q_values(t)[observation["state"]].argmax())
            observation, reward, ended, _, _ = environment.step(action)
            total += reward
            if ended:
                break
        returns.append(total)
    error = np.std(returns) / len(returns) ** 0.5
    assert error > 0
    assert abs(np.mean(returns) - best.values[0][world.start]) < 4 * error


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_ended_episodes_pay_nothing_more(make):
    world = from_ns_gym(make(), horizon=HORIZON)
    kernel, states = world.kernel(0), np.arange(world.states)
    stays = (kernel.general().dense()[states, :, states] == 1.0).all(axis=1)
    assert stays.any()
    assert world.reward(0).expected(kernel)[stays] == pytest.approx(0.0)


def test_a_fall_that_ends_the_episode_ends_in_a_state_of_its_own():
    world = from_ns_gym(cliff(terminal_cliff=True), horizon=HORIZON)
    assert world.states == 49
    right_from_the_start = world.kernel(0).general().dense()[36, 1]
    assert right_from_the_start[48] == pytest.approx(0.9)
    # The fall, the other two sideways moves of 1/30 each (up, and down against the wall), and back, at -1.
    assert world.reward(0).expected(world.kernel(0))[36, 1] == pytest.approx(-100 * 0.9 - 0.1)


def test_a_random_course_belongs_to_its_seed():
    def courses(seed):
        drift = {"P": RandomCategorical(ContinuousScheduler())}
        return from_ns_gym(frozen_lake(drift=drift), horizon=HORIZON, seed=seed).drift_bounds

    assert np.array_equal(courses(5), courses(5))
    assert not np.allclose(courses(5), courses(6))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_rules_run_on_it(make):
    mission = Mission(
        from_ns_gym(make(), horizon=HORIZON), Robot(planning_horizon=HORIZON), Spending.exactly(3)
    )
    for name in ("periodic", "regret-guided", "drift-threshold", "lazy-value", "random"):
        assert regret(mission, make_rule(name)) >= -1e-9


def test_reading_bridge_leaves_numpys_global_stream_alone():
    np.random.seed(1)
    before = np.random.get_state()[1].copy()
    from_ns_gym(bridge(), horizon=HORIZON)
    assert np.array_equal(np.random.get_state()[1], before)


def test_a_used_environment_is_refused_since_its_table_may_be_an_old_one():
    lake = frozen_lake()
    lake.reset(seed=0)
    with pytest.raises(InputError, match="has been reset before: give a fresh one"):
        from_ns_gym(lake, horizon=HORIZON)


def test_a_continuous_environment_gets_one_clear_line():
    pole = NSClassicControlWrapper(
        gymnasium.make("CartPole-v1"), {"masspole": IncrementUpdate(ContinuousScheduler(), k=0.1)}
    )
    with pytest.raises(InputError, match="the observations of CartPole-v1 are Box, not Discrete"):
        from_ns_gym(pole, horizon=HORIZON)


def test_an_environment_that_does_not_drift_is_pointed_to_the_other_adapter():
    with pytest.raises(InputError, match="FrozenLake-v1 is not an NS-Gym environment: see from_gymnasium"):
        from_ns_gym(gymnasium.make("FrozenLake-v1"), horizon=HORIZON)
