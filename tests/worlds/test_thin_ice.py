import numpy as np
import pytest

from replan import Robot, Spending
from replan.errors import InputError
from replan.evaluation.exact import regret
from replan.execute.mission import Mission
from replan.model.slip import ACTIONS
from replan.schedule.fixed import FixedTimes
from replan.worlds.settings import load_setting
from replan.worlds.thin_ice import Ice, ThinIce

DOWN, STAY = ACTIONS.index("down"), ACTIONS.index("stay")


def build(**ice):
    return ThinIce(ice=Ice(**ice)).build()


def cell(i, j, n=12):
    return i * n + j


def row(world, t, state, action):
    """{successor: probability} of one row."""
    dense = world.kernel(t).general().dense()[state, action]
    return {int(s): pytest.approx(dense[s]) for s in np.flatnonzero(dense)}


def test_a_step_onto_the_ice_breaks_it_with_the_failure_rate_of_its_time():
    world = build(slip=0.0, failure=0.1, worst_failure=0.5, melt_begin=2, melt_steps=4)
    on_ice, swept_away = cell(9, 1), cell(9, 4)  # three columns along
    for t, rate in ((0, 0.1), (2, 0.1), (3, 0.2), (5, 0.4), (6, 0.5), (39, 0.5)):
        assert row(world, t, cell(8, 1), DOWN) == {on_ice: 1 - rate, swept_away: rate}
        assert row(world, t, on_ice, STAY) == {on_ice: 1 - rate, swept_away: rate}
        assert row(world, t, on_ice, DOWN) == {cell(10, 1): 1}


def test_the_river_takes_nobody_past_the_open_water():
    world = build(slip=0.0, swept=3, ice_width=3, bridge=5)
    assert set(row(world, 0, cell(8, 2), DOWN)) == {cell(9, 2), cell(9, 4)}


def test_who_is_in_the_water_climbs_out_on_the_near_bank_whatever_is_commanded():
    world = build()
    for action in range(len(ACTIONS)):
        assert row(world, 7, cell(9, 3), action) == {cell(8, 3): 1}


def test_the_bridge_is_safe_and_open_water_is_not_walked_into():
    world = build(slip=0.0)
    assert row(world, 39, cell(8, 5), DOWN) == {cell(9, 5): 1}
    assert row(world, 39, cell(8, 4), DOWN) == {cell(8, 4): 1}


def test_the_reward_does_not_know_how_far_the_ice_has_melted():
    world = build()
    assert all(world.reward(t) is world.reward(0) for t in range(world.horizon))
    in_water, on_bank = world.reward(0).next_state[[cell(9, 3), cell(8, 3)]]
    assert in_water == pytest.approx(on_bank + 1 / 20 - 3.0)


@pytest.mark.parametrize("degree", ["medium", "hard"])
def test_the_plan_of_the_start_crosses_the_ice_and_that_of_the_bank_goes_to_the_bridge(degree):
    world = load_setting(f"thin-ice-{degree}").build()
    mission = Mission(world, Robot(planning_horizon=30), Spending.exactly(3))
    assert mission.update(1).plan.policy[cell(8, 0)] == DOWN
    assert mission.update(8).plan.policy[cell(8, 0)] == ACTIONS.index("right")


@pytest.mark.parametrize("degree", ["medium", "hard"])
def test_the_update_that_matters_is_the_one_just_before_the_choice(degree):
    """Eight steps down lead to the bank; at t = 8 the robot stands before the ice."""
    mission = Mission(
        load_setting(f"thin-ice-{degree}").build(), Robot(planning_horizon=30), Spending.exactly(3)
    )
    by_time = {t: regret(mission, FixedTimes((1, t, 39))) for t in range(2, 20)}
    assert min(by_time, key=by_time.__getitem__) == 8
    assert by_time[8] < 0.4 * by_time[2]
    assert by_time[8] < 0.5 * by_time[14]


def test_what_cannot_be_built_is_refused_by_name():
    for wrong, name in (
        ({"failure": 1.2}, "failure"),
        ({"worst_failure": -0.1}, "worst_failure"),
        ({"bridge": 3}, "bridge"),
        ({"river": 11}, "river"),
        ({"melt_steps": 0}, "melt_steps"),
        ({"swept": 0}, "swept"),
        ({"slip": 2.0}, "slip"),
    ):
        with pytest.raises(InputError, match=name):
            build(**wrong)
