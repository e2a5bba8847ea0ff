"""A robot that expects the world to move, against enumeration written out from the conventions."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import FixedTimes, constant, load_setting, make_mission
from replan.evaluation.exact import evaluate_times
from replan.evaluation.rollouts import rollout
from replan.evaluation.visits import Follow
from replan.forecast.base import Evidence, mean_kernel
from replan.forecast.given import ForecastFault, Given
from replan.forecast.trend import Trend
from replan.planning.ties import Ties
from tiny_worlds import random_times, tiny_missions


def forecasts(mission):
    future = mission.world.kernel
    return [Given(future), Given(future, ForecastFault(error=0.4, late=1)), Trend()]


def expected_kernels(mission, time, earlier):
    """t -> dense kernel that the robot expects after an update at `time`."""
    world = mission.world
    before = (earlier, world.kernel(earlier - 1)) if earlier else None
    evidence = Evidence(
        time,
        world.horizon,
        world.kernel(max(time - 1, 0)),
        world.kernel(0),
        world.drift_bounds[:time],
        before,
    )
    at = mean_kernel(mission.robot.forecast.futures(evidence))
    return lambda t: at(t).general().dense()


def first_step_values(world, kernel, t, steps):
    """(S, A) return of each first action followed by the best of all policies of the steps after it."""
    states, actions = world.states, world.actions

    def reward(s, a, s2, at):
        r = world.reward(at)
        part = 0.0 if r.state_action is None else r.state_action[s, a]
        return part + (0.0 if r.next_state is None else r.next_state[s2])

    def value(s, at, policies):
        if not policies:
            return 0.0
        a = policies[0][s]
        return sum(
            p * (reward(s, a, s2, at) + value(s2, at + 1, policies[1:]))
            for s2, p in enumerate(kernel(at)[s, a])
            if p
        )

    each_step = list(product(range(actions), repeat=states))
    return np.array(
        [
            [
                max(value(s, t, [[a] * states, *rest]) for rest in product(each_step, repeat=steps - 1))
                for a in range(actions)
            ]
            for s in range(states)
        ]
    )


@given(tiny_missions(max_horizon=4), st.integers(0, 2), st.integers(1, 2))
def test_every_step_of_an_interval_is_the_best_first_step_on_the_forecast(mission, which, horizon):
    mission = replace(
        mission, robot=replace(mission.robot, planning_horizon=horizon, forecast=forecasts(mission)[which])
    )
    world = mission.world
    time, earlier = (2, 1) if world.horizon > 3 else (1, 0)
    update, kernel = mission.update(time, mission.update(earlier)), expected_kernels(mission, time, earlier)
    for t in range(time, world.horizon):
        values = first_step_values(world, kernel, t, min(horizon, world.horizon - t))
        np.testing.assert_allclose(update.plan.at(t).q_values, values, atol=1e-9)
        best = values.max(axis=1) - values[np.arange(world.states), update.plan.at(t).policy]
        assert (best <= 1e-9).all()


def return_by_enumeration(mission, times, start):
    """Walk every trajectory of a robot that plans and propagates on its forecast."""
    world, everyone = mission.world, np.arange(mission.world.states)
    dense = [world.kernel(t).general().dense() for t in range(world.horizon)]

    def q_values(kernel, t):
        values = np.zeros(world.states)
        for h in range(min(mission.robot.planning_horizon, world.horizon - t) - 1, -1, -1):
            reward = world.reward(t + h)
            ahead = values if reward.next_state is None else values + reward.next_state
            z = kernel(t + h) @ ahead + (0 if reward.state_action is None else reward.state_action)
            values = z.max(axis=1)
        return z

    def step(belief, t, kernel):
        z = q_values(kernel, t)
        if mission.robot.execution == "map":
            s = int(belief.argmax())
            a = int(mission.robot.ties.choose(z, plan_time=t, states=everyone)[s])
            row = kernel(t)[s, a]
            return a, np.eye(world.states)[int((row >= row.max() - 1e-9).argmax())]
        a = int(mission.robot.ties.choose((belief @ z)[None], plan_time=t)[0])
        return a, belief @ kernel(t)[:, a]

    def walk(t, state, belief, last, kernel):
        if t == world.horizon:
            return 0.0
        if t in times or t == 0:
            belief, kernel, last = np.eye(world.states)[state], expected_kernels(mission, t, last), t
        action, following = step(belief, t, kernel)
        reward = world.reward(t)
        total = 0.0 if reward.state_action is None else reward.state_action[state, action]
        for s in np.flatnonzero(dense[t][state, action]):
            gain = 0.0 if reward.next_state is None else reward.next_state[s]
            total += dense[t][state, action, s] * (gain + walk(t + 1, s, following, last, kernel))
        return total

    return walk(0, start, None, 0, None)


@given(tiny_missions(), st.integers(0, 2), st.integers(0, 2**32 - 1))
def test_exact_return_equals_the_enumeration_of_all_trajectories(mission, which, seed):
    mission = replace(mission, robot=replace(mission.robot, forecast=forecasts(mission)[which]))
    times = random_times(np.random.default_rng(seed), mission)
    everywhere = [return_by_enumeration(mission, times, s) for s in range(mission.world.states)]
    assert evaluate_times(mission, times).expected_return == pytest.approx(
        everywhere[mission.world.start], abs=1e-9
    )
    np.testing.assert_allclose(Follow(mission, FixedTimes(times)).returns(), everywhere, atol=1e-9)


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_rollouts_have_the_exact_mean(execution):
    mission = make_mission(load_setting("thin-ice-mild"), execution=execution)
    for forecast in (Given(mission.world.kernel), Trend()):
        mission = replace(mission, robot=replace(mission.robot, forecast=forecast))
        times = FixedTimes((1, 9, 17, 25)[: mission.spending.limit])
        returns = rollout(mission, times, np.arange(4000)).returns
        exact = evaluate_times(mission, times.times).expected_return
        assert abs(returns.mean() - exact) < 4 * returns.std() / len(returns) ** 0.5


@given(tiny_missions())
def test_where_nothing_moves_the_future_given_is_the_paper_s_robot(mission):
    """With one step to plan for, every time has the same plan, so that keeping it changes nothing."""
    kernel, reward = mission.world.kernel(0), mission.world.reward(0)
    still = replace(mission.world, kernel=constant(kernel), reward=constant(reward))
    frozen = replace(
        mission, world=still, robot=replace(mission.robot, planning_horizon=1, ties=Ties("last"))
    )
    times = tuple(range(1, mission.spending.limit + 1))
    foretold = replace(frozen, robot=replace(frozen.robot, forecast=Given(still.kernel)))
    assert evaluate_times(foretold, times).regret == evaluate_times(frozen, times).regret
