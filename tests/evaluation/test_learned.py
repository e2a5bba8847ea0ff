"""Missions on estimated kernels: with the true kernel the rollouts, with an estimator the agent's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import Agent, FixedTimes, TrueKernel, load_setting, make_mission, rollout
from replan.estimate.drift_bounded_mle import DriftBoundedMLE
from replan.estimate.slip_mle import PooledSlip
from replan.evaluation.agent_runs import learned_samples
from replan.model.streams import uniforms
from replan.schedule.drift_threshold import DriftThreshold
from replan.schedule.periodic import Periodic
from tiny_worlds import random_times, tiny_missions


@given(tiny_missions(max_horizon=6), st.integers(0, 1000))
def test_with_the_true_kernel_they_are_the_rollouts(mission, seed):
    rule = FixedTimes(random_times(np.random.default_rng(seed), mission))
    seeds = np.arange(seed, seed + 5)
    learned = learned_samples(mission, rule, lambda m: TrueKernel(m.world), seeds)[0]
    np.testing.assert_allclose(learned, rollout(mission, rule, seeds).returns, atol=1e-12)


def agent_return(mission, rule, estimator, seed) -> float:
    """The same mission with an `Agent` in the loop."""
    world = mission.world
    agent = Agent.on(mission, rule, estimator=estimator)
    state, previous, total = world.start, None, 0.0
    agent.start(state)
    while not agent.done:
        if agent.due().update:
            agent.update(state, previous)
        t = agent.time
        before, actions = np.array([state]), np.array([agent.act()])
        after = world.kernel(t).sample(before, actions, uniforms([seed], t))
        total += float(world.reward(t).realised(before, actions, after)[0])
        previous, state = state, int(after[0])
    return total


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize(
    "make",
    [
        lambda m: DriftBoundedMLE(m.world.kernel(0), m.world.drift_bounds),
        lambda m: PooledSlip(m.world.kernel(0), m.world.drift_bounds, evidence="intervals"),
    ],
)
def test_with_an_estimator_they_are_what_an_agent_does(execution, make):
    mission = make_mission(load_setting("two-burst"), execution=execution)
    for rule in (Periodic(), DriftThreshold(0.08)):
        for seed in (0, 5):
            expected = agent_return(mission, rule, make(mission), seed)
            assert learned_samples(mission, rule, make, [seed])[0][0] == pytest.approx(expected, abs=1e-12)
