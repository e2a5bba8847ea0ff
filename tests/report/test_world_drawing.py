"""One drawing of the world for page and explorer."""

import re
import xml.etree.ElementTree as tree

import numpy as np
import pytest

from replan import load_setting, make_mission, rover
from replan.evaluation.placement import fast_drift_intervals
from replan.explore import model, panels
from replan.report.page.setting_view import Shown, setting_view
from replan.report.world_drawing import CELL, LOOKS, GridDrawing
from replan.schedule.periodic import Periodic


def ground(name):
    return GridDrawing.of(make_mission(load_setting(name)).world)


def test_a_rover_has_one_goal_its_walls_and_no_cell_that_drifts_more_than_others():
    world = rover(4, np.linspace(0.05, 0.4, 14), obstacles=[(1, 1), (2, 2)])
    drawn = GridDrawing.of(world)
    assert (drawn.start, drawn.goals, drawn.walls) == (0, (15,), (5, 10))
    assert drawn.costly == () and drawn.drifting == {}
    assert list(drawn.legend()) == ["true path", "believed path", "update", "start", "goal", "wall"]


def test_every_goal_of_a_world_is_drawn():
    assert ground("nsbridge-05").goals == (16, 23)  # both ends of the bridge
    crosswind = ground("crosswind-hard")
    assert {state % crosswind.columns for state in crosswind.goals} == {crosswind.columns - 1}


def test_water_holes_and_melting_ice_are_drawn():
    ice = ground("thin-ice-hard")
    assert ice.costly and ice.drifting and not set(ice.costly) & set(ice.drifting)
    assert len(ground("nsbridge-05").costly) == 22  # the holes
    patches = ground("terrain-hard")
    assert 0 < len(patches.drifting) < patches.rows * patches.columns


@pytest.mark.parametrize("name", ["two-burst", "thin-ice-mild", "terrain-hard", "nsbridge-05"])
def test_page_and_explorer_show_the_same_drawing(name):
    setting = load_setting(name)
    scene = model.make_scene(setting)
    shown = panels.path(scene, model.make_view(scene, model_times(scene)).trace)
    view = setting_view(name, setting, {"periodic": Shown(Periodic())})
    assert view["grid"]["ground"] in shown and view["grid"]["cell"] == CELL
    round_marks = view["grid"]["legend"].replace(LOOKS["update"].sign, "●")
    assert round_marks in panels.path_legend(scene)
    tree.fromstring(f"<svg>{view['grid']['ground']}</svg>")


def model_times(scene):
    return list(range(1, scene.mission.spending.limit + 1))


def test_no_two_looks_share_a_colour_except_grounds_and_signs():
    colours = [look.colour for look in LOOKS.values()]
    assert len(set(colours)) == len(colours)
    for name, look in LOOKS.items():
        assert re.fullmatch(r"var\(--[a-z]+, .+\)", look.css), name


def test_fast_drift_is_where_the_world_changes_at_least_half_as_fast_as_ever():
    assert fast_drift_intervals(np.array([0.1, 0.5, 1.0, 0.49, 0.0, 0.6])) == [(1, 3), (5, 6)]
    assert fast_drift_intervals(np.zeros(5)) == [] and fast_drift_intervals(np.full(5, 0.2)) == []
    two_burst = make_mission(load_setting("two-burst")).world
    assert fast_drift_intervals(two_burst.drift_bounds) == [(10, 17), (31, 41)]
