"""Exact regret against an enumeration of every trajectory, and against rollouts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import (
    FixedTimes,
    InputError,
    Mission,
    Robot,
    Spending,
    World,
    evaluate_times,
    load_setting,
    make_mission,
    oracle,
)
from replan.evaluation.exact import evaluate
from replan.evaluation.rollouts import oracle_rollout, rollout, sampled_regret
from replan.evaluation.visits import Follow
from replan.model.sizes import Sizes
from replan.schedule.periodic import periodic_times
from replan.worlds.settings import PAPER_SETTINGS
from replan.worlds.slip_grid import rover
from tiny_worlds import random_times, tiny_missions


def return_by_enumeration(mission: Mission, times: tuple[int, ...], start: int) -> float:
    """Walk every trajectory of a robot written out afresh from the paper's section 2.1."""
    world = mission.world
    dense = [world.kernel(t).general().dense() for t in range(world.horizon)]

    def q_values(time):
        horizon = min(mission.robot.planning_horizon, world.horizon - time)
        estimate = dense[max(time - 1, 0)]
        values = np.zeros(world.states)
        for h in range(horizon - 1, -1, -1):
            reward = world.reward(time + h)
            ahead = values if reward.next_state is None else values + reward.next_state
            z = estimate @ ahead + (0 if reward.state_action is None else reward.state_action)
            values = z.max(axis=1)
        return z

    def action_and_next(belief, time):
        z = q_values(time)
        estimate = dense[max(time - 1, 0)]
        if mission.robot.execution == "map":
            s = int(belief.argmax())
            a = int(mission.robot.ties.choose(z, plan_time=time, states=np.arange(world.states))[s])
            row = estimate[s, a]
            return a, np.eye(world.states)[int((row >= row.max() - 1e-9).argmax())]
        a = int(mission.robot.ties.choose((belief @ z)[None], plan_time=time)[0])
        return a, belief @ estimate[:, a]

    def walk(t, state, belief, last):
        if t == world.horizon:
            return 0.0
        if t in times or t == 0:
            belief, last = np.eye(world.states)[state], t
        action, following = action_and_next(belief, last)
        reward = world.reward(t)
        total = 0.0 if reward.state_action is None else reward.state_action[state, action]
        for s in range(world.states):
            p = dense[t][state, action, s]
            if p > 0:
                gain = 0.0 if reward.next_state is None else reward.next_state[s]
                total += p * (gain + walk(t + 1, s, following, last))
        return total

    return walk(0, start, None, 0)


@given(tiny_missions(), st.integers(0, 2**32 - 1))
def test_exact_return_equals_the_enumeration_of_all_trajectories(mission, seed):
    times = random_times(np.random.default_rng(seed), mission)
    answer = evaluate_times(mission, times)
    expected = return_by_enumeration(mission, times, mission.world.start)
    assert answer.expected_return == pytest.approx(expected, abs=1e-10)
    returns = Follow(mission, FixedTimes(times)).returns()
    everywhere = [return_by_enumeration(mission, times, s) for s in range(mission.world.states)]
    np.testing.assert_allclose(returns, everywhere, atol=1e-10)
    best = oracle(mission.world)
    assert answer.dynamic_regret == pytest.approx(float((best.values[0] - returns).max()), abs=1e-10)


@given(tiny_missions(max_horizon=7), st.integers(0, 2**32 - 1))
def test_the_losses_of_single_steps_sum_to_the_regret(mission, seed):
    times = random_times(np.random.default_rng(seed), mission)
    answer = evaluate_times(mission, times)
    assert answer.steps.loss.sum() == pytest.approx(answer.regret, abs=1e-10)
    assert (answer.steps.loss >= -1e-12).all()
    assert set(np.flatnonzero(answer.steps.update_probability)) == set(times)
    assert not answer.steps.update_loss[answer.steps.update_probability == 0].any()
    assert not answer.steps.skip_loss[list(times)].any()


@pytest.mark.parametrize("name", PAPER_SETTINGS)
@pytest.mark.parametrize("execution", ["map", "belief"])
def test_exact_lies_within_four_standard_errors_of_rollouts(name, execution):
    mission = make_mission(load_setting(name), execution=execution)
    best = oracle(mission.world)
    rule = FixedTimes(periodic_times(mission.horizon, mission.spending.limit))
    seeds = np.arange(4_000)
    sampled = sampled_regret(
        oracle_rollout(mission.world, seeds, best=best), rollout(mission, rule, seeds).returns
    )
    assert abs(evaluate(mission, rule, best=best).regret - sampled.regret) < 4 * sampled.standard_error


def general_twin(mission: Mission) -> Mission:
    """The same mission on general kernels."""
    world = mission.world
    twin = World(world.horizon, lambda t: world.kernel(t).general(), world.reward, world.start)
    return Mission(
        twin,
        Robot(
            planning_horizon=mission.robot.planning_horizon,
            execution=mission.robot.execution,
            ties=mission.robot.ties,
        ),
        Spending.exactly(mission.spending.limit),
    )


@pytest.mark.parametrize("name", ["two-burst", "sinusoidal-medium"])
@pytest.mark.parametrize("execution", ["map", "belief"])
def test_general_and_slip_kernels_give_the_same_values(name, execution):
    mission = make_mission(load_setting(name), execution=execution)
    times = periodic_times(mission.horizon, mission.spending.limit)
    one, other = evaluate_times(mission, times), evaluate_times(general_twin(mission), times)
    assert one.regret == pytest.approx(other.regret, abs=1e-12)
    np.testing.assert_allclose(one.steps.loss, other.steps.loss, atol=1e-12)


@pytest.mark.parametrize(("execution", "regret"), [("map", 0.772), ("belief", 0.138)])
def test_two_burst_with_periodic_updates(execution, regret):
    mission = make_mission(load_setting("two-burst"), execution=execution)
    assert evaluate_times(mission, [1, 17, 33, 49]).regret == pytest.approx(regret, abs=5e-4)


def test_beyond_the_limit_only_the_given_start_is_done():
    mission = make_mission(load_setting("two-burst"))
    whole = evaluate_times(mission, [1, 17, 33, 49])
    small = replace(mission, sizes=Sizes(all_starts=100))
    alone = evaluate_times(small, [1, 17, 33, 49])
    assert alone.dynamic_regret is None
    assert alone.regret == pytest.approx(whole.regret, abs=1e-12)
    enough = replace(mission, sizes=Sizes(all_starts=144))
    assert evaluate_times(enough, [1, 17, 33, 49]).dynamic_regret == pytest.approx(whole.dynamic_regret)


def test_dynamic_regret_is_the_worst_over_the_start_states_that_the_world_declares():
    mission = make_mission(load_setting("two-burst"))
    rule, best = FixedTimes((1, 17, 33, 49)), oracle(mission.world)
    regrets = best.values[0] - Follow(mission, rule).returns()
    starts = np.argsort(regrets)[[3, 40]]
    among = replace(mission, world=replace(mission.world, start_states=starts))
    assert evaluate(among, rule, best=best).dynamic_regret == pytest.approx(regrets[starts[1]], abs=1e-12)
    assert evaluate(mission, rule, best=best).dynamic_regret == pytest.approx(regrets.max(), abs=1e-12)


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ([1, 17, 33], "3 update times given, but the budget is 4"),
        ([1, 17, 17, 33], "update time 17 is repeated"),
        ([1, 17, 33, 50], "update time 50 lies outside 1 to 49"),
        ([0, 17, 33, 49], "update time 0 lies outside"),
        ([2, 17, 33, 49], "the first update is at 1, not 2"),
        ([1, 33, 17, 49], "in order"),
    ],
)
def test_schedules_that_make_no_sense_are_refused(times, said):
    with pytest.raises(InputError, match=said):
        evaluate_times(make_mission(load_setting("two-burst")), times)


def test_the_oracle_of_the_whole_world_may_be_given_where_little_of_it_is_reached():
    mission = Mission(rover(51, np.linspace(0.1, 0.4, 8)), Robot(planning_horizon=4), Spending.exactly(2))
    assert mission.cropped is not mission
    rule, best = FixedTimes((1, 4)), oracle(mission.world)
    given_best, own = evaluate(mission, rule, best=best), evaluate(mission, rule)
    assert given_best.regret == pytest.approx(own.regret, abs=1e-12)
    assert given_best.oracle_return == pytest.approx(best.values[0][mission.world.start], abs=1e-9)
    np.testing.assert_allclose(given_best.steps.loss, own.steps.loss, atol=1e-12)
