import numpy as np
import pytest

from replan.errors import InputError
from replan.model.slip import ACTIONS
from replan.worlds.crosswind import Crosswind, LakesAndWind, gust_law
from replan.worlds.settings import load_setting, make_mission
from tiny_worlds import steps_of

RIGHT, LEFT, DOWN, UP, STAY = range(len(ACTIONS))
COLUMNS = 13  # of the built-in settings, with 5 rows


def build(**wind):
    return Crosswind(wind=LakesAndWind(**wind)).build()


def cell(i, j):
    return i * COLUMNS + j


@pytest.mark.parametrize(("angle", "direction"), [(90, UP), (0, RIGHT), (-90, DOWN), (180, LEFT)])
def test_a_gust_goes_with_the_wind(angle, direction):
    assert gust_law(angle, lean=1.0) == pytest.approx(np.eye(5)[direction])
    assert gust_law(angle, lean=0.5) == pytest.approx(0.1 + 0.5 * np.eye(5)[direction])


def test_between_two_directions_the_wind_is_shared():
    assert gust_law(-45, lean=1.0) == pytest.approx([0.5, 0, 0.5, 0, 0])


def test_gusts_lead_into_the_lake_and_commands_do_not():
    world = build(gusts=0.25, lean=1.0, turn_begin=2, turn_steps=4)
    upper, lower = cell(0, 3), cell(4, 3)
    first, last = (world.kernel(t).general().dense() for t in (0, 39))
    assert first[upper, RIGHT, [cell(0, 4), upper]] == pytest.approx([0.75, 0.25])  # pressed against the edge
    assert first[lower, RIGHT, [cell(4, 4), cell(3, 3)]] == pytest.approx([0.75, 0.25])
    assert last[upper, RIGHT, [cell(0, 4), cell(1, 3)]] == pytest.approx([0.75, 0.25])
    assert last[lower, RIGHT, [cell(4, 4), lower]] == pytest.approx([0.75, 0.25])
    assert first[upper, DOWN, cell(1, 3)] == 0


def test_who_is_in_the_lake_comes_out_on_the_nearer_shore():
    dense = build().kernel(0).general().dense()
    assert (dense[cell(1, 3), :, cell(0, 3)] == 1).all()
    assert (dense[cell(3, 3), :, cell(4, 3)] == 1).all()


def test_the_reward_does_not_know_the_wind():
    world = build()
    assert all(world.reward(t) is world.reward(0) for t in range(world.horizon))


@pytest.mark.parametrize("degree", ["medium", "hard"])
def test_the_plan_of_the_start_takes_the_path_that_will_be_on_the_lee_side(degree):
    mission = make_mission(load_setting(f"crosswind-{degree}"))
    world = mission.world
    *_, (_, _, places) = steps_of(world, mission.update(1).propagation, [world.start], 1, 8)
    rows = places.reshape(world.grid).sum(axis=1)
    assert rows[:2].sum() > 0.8  # on the upper path, or blown off it
    assert mission.update(10).plan.policy[cell(0, 6)] == DOWN  # where the paths meet, it would cross


def test_what_cannot_be_built_is_refused_by_name():
    for wrong, name in (
        ({"gusts": 1.2}, "gusts"),
        ({"lean": -1}, "lean"),
        ({"lakes": 0}, "lakes"),
        ({"turn_steps": 0}, "turn"),
    ):
        with pytest.raises(InputError, match=name):
            build(**wrong)
