"""Regret on a scale from the oracle to a robot that never updates."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from replan import (
    FixedTimes,
    Mission,
    Robot,
    Spending,
    evaluate,
    load_setting,
    make_mission,
    optimum,
    oracle,
    regret,
    rover,
)
from replan.evaluation.scale import (
    RegretScale,
    best_objective,
    is_cheap,
    never_updating,
    regret_scale,
)
from replan.forecast.mixture import Mixture
from replan.forecast.trend import Trend
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.sizes import Sizes
from replan.model.world import World
from replan.schedule.periodic import Even
from tiny_worlds import tiny_missions


@pytest.fixture(scope="module")
def mission():
    return Mission(rover(4, np.linspace(0.05, 0.4, 14)), Robot(planning_horizon=5), Spending.exactly(3))


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_never_updating_is_a_walk_on_the_first_plan(mission, execution):
    """By hand: the likeliest cell or the belief, pushed with P_0 alone, and the true state beside it."""
    mission = replace(mission, robot=replace(mission.robot, execution=execution))
    world, update = mission.world, mission.update(0)
    believed = np.eye(world.states)[world.start]
    true, gained = believed.copy(), 0.0
    for t in range(mission.horizon):
        cell = believed.argmax()
        action = (
            update.plan.policy[cell] if execution == "map" else (believed @ update.plan.q_values).argmax()
        )
        true = true @ world.kernel(t).general().dense()[:, action]
        gained += true @ world.reward(t).next_state
        believed = believed @ world.kernel(0).general().dense()[:, action]
        if execution == "map":
            believed = np.eye(world.states)[update.kernel.most_likely()[cell, action]]
    lost = oracle(world).values[0][world.start] - gained
    assert regret_scale(mission).never == pytest.approx(lost, abs=1e-12)


def test_the_scale_holds_the_floor_and_even_spacing(mission):
    scale = regret_scale(mission)
    assert scale.best_possible == pytest.approx(optimum(mission).feedback_regret, abs=1e-9)
    assert scale.even == pytest.approx(regret(mission, Even()), abs=1e-12)
    assert scale.record(evaluate(mission, Even()).regret) == {
        "best_possible": scale.best_possible,
        "evenly_spaced": scale.even,
        "never_updating": scale.never,
        "makes_a_difference": True,
        "regret_share": pytest.approx(scale.even / scale.never),
    }


@given(tiny_missions())
def test_never_updating_is_a_free_schedule_without_updates(mission):
    free = mission.with_spending(Spending.at_price(0.0))
    never = never_updating(mission, best=oracle(mission.world))
    assert never == pytest.approx(regret(free, FixedTimes(())), abs=1e-9)


def test_the_best_possible_is_computed_only_where_it_is_asked_for_and_not_given(mission):
    assert regret_scale(mission, floor=False).best_possible is None
    assert regret_scale(mission, best_possible=0.25).best_possible == 0.25


def test_the_greatest_objective_is_that_of_the_best_updates_where_it_is_cheap():
    mission = Mission(rover(3, np.linspace(0.05, 0.4, 8)), Robot(planning_horizon=5), Spending.at_price(0.01))
    assert best_objective(mission) == pytest.approx(optimum(mission).feedback_objective, abs=1e-9)
    large = Mission(rover(30, np.full(50, 0.1)), Robot(planning_horizon=3), Spending.at_price(0.01))
    assert best_objective(large) is None


def test_a_world_is_cheap_up_to_so_many_states_times_steps():
    assert is_cheap(
        Mission(rover(20, np.full(Sizes().floor // 400, 0.1)), Robot(planning_horizon=3), Spending.exactly(2))
    )
    assert not is_cheap(
        Mission(
            rover(20, np.full(Sizes().floor // 400 + 1, 0.1)), Robot(planning_horizon=3), Spending.exactly(2)
        )
    )


def test_no_share_where_replanning_makes_no_difference():
    scale = RegretScale(never=3.2e-6, least=1e-4, even=1e-6, best_possible=0.0)
    assert scale.share(1e-6) is None and scale.record(1e-6)["regret_share"] is None
    assert scale.words(1e-6) == "replanning makes no difference here (never updating loses 3e-06)"
    assert "never updates loses nothing worth counting" in scale.words(0.5)  # updates can harm
    assert RegretScale(never=2.0, least=1e-4).share(0.5) == 0.25
    assert RegretScale(never=1e-4, least=1e-4).share(1e-4) == 1.0


@pytest.mark.parametrize("loss", [0.99e-4, 1.01e-4])
def test_never_updating_makes_a_difference_from_a_share_of_the_span_of_the_rewards_on(loss):
    """One state, two actions, rewards 0 to 7 in the first step; in the last the better action has changed."""
    rewards = [
        Reward(state_action=np.array([[0.0, 7.0]])),
        Reward(state_action=np.array([[7 * loss, 0.0]])),
    ]
    world = World(
        horizon=2,
        kernel=constant(GeneralKernel.from_dense(np.ones((1, 2, 1)))),
        reward=rewards.__getitem__,
        start=0,
    )
    mission = Mission(world, Robot(planning_horizon=1), Spending.exactly(1))
    scale = regret_scale(mission)
    assert scale.never == pytest.approx(7 * loss) and scale.least == pytest.approx(7e-4)
    assert scale.makes_a_difference == (loss > 1e-4)


def test_a_large_world_has_the_share_alone():
    large = Mission(rover(30, np.full(50, 0.1)), Robot(planning_horizon=3), Spending.exactly(2))
    assert large.world.states * large.horizon > Sizes().floor
    scale = regret_scale(large)
    assert scale.best_possible is None and scale.even is None and scale.never >= 0
    assert regret_scale(large, best_possible=0.25).best_possible == 0.25


def test_a_forecast_that_compares_two_updates_is_cheap_up_to_so_many_states_times_steps_squared():
    mission = Mission(
        rover(6, np.full(20, 0.1)), Robot(planning_horizon=3, forecast=Trend()), Spending.exactly(2)
    )
    fits, exceeds = Sizes(shown_compared_floor=36 * 20**2), Sizes(shown_compared_floor=36 * 20**2 - 1)
    assert regret_scale(replace(mission, sizes=fits)).best_possible is not None
    assert regret_scale(replace(mission, sizes=exceeds)).best_possible is None


def test_the_scale_of_the_papers_settings_is_complete_with_every_forecast():
    mission = make_mission(load_setting("two-burst"))
    assert is_cheap(replace(mission, robot=replace(mission.robot, forecast=Mixture())))


def test_every_paper_setting_is_between_the_oracle_and_never_updating():
    for name in ("two-burst", "late-burst"):
        scale = regret_scale(make_mission(load_setting(name)))
        assert 0 < scale.best_possible < scale.even < scale.never
