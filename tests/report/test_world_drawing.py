"""One drawing of the world for page and explorer."""

import re
import xml.etree.ElementTree as tree

import numpy as np
import pytest

from replan import Reward, World, constant, load_setting, make_mission, rover
from replan.explore import model, panels
from replan.report.page.setting_view import Shown, setting_view
from replan.report.world_drawing import CELL, LOOKS, GridDrawing
from replan.schedule.periodic import Periodic
from replan.study.placement import fast_drift_intervals
from replan.worlds.cell_map import CellMap
from replan.worlds.flow_grid import FlowGrid, goal_distance
from replan.worlds.map_world import cell_world


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


@pytest.mark.parametrize("name", ["thin-ice-hard", "thin-ice-mild", "crosswind-hard", "crosswind-mild"])
def test_water_is_drawn_whatever_it_costs(name):
    setting = load_setting(name)
    part, cost = ("ice", "fall_cost") if "ice" in name else ("wind", "hazard_cost")
    cheap = setting.model_copy(update={part: getattr(setting, part).model_copy(update={cost: 0.5})})
    drawn = GridDrawing.of(make_mission(cheap).world).costly
    cells = 2 if "ice" in name else setting.wind.lakes * setting.wind.lake_length * setting.wind.lake_height
    assert drawn == ground(name).costly and len(drawn) == cells


@pytest.mark.parametrize("objective", ["distance", "time"])
def test_the_floor_of_a_map_is_not_water(objective):
    """A way around a wall, longer than the map is wide and high."""
    occupied = np.zeros((9, 9), dtype=bool)
    occupied[:8, 2] = occupied[1:, 5] = True
    cells = CellMap(1.0, (9, 9), occupied.reshape(-1))
    drawn = GridDrawing.of(cell_world(cells, np.full(40, 0.1), start=0, goal=8, objective=objective))
    assert drawn.costly == () and len(drawn.walls) == 16


def test_a_flow_is_drawn_as_arrows_and_its_land_as_walls():
    land = np.arange(12) == 5
    moves = np.zeros((12, 1, 2))
    moves[:, 0] = 0.0, 0.5  # to the east
    moves[7, 0] = 1.0, 0.0  # to the south, twice as far
    kernel = FlowGrid((3, 4), land).kernel(moves, np.zeros((1, 2)))
    reward = Reward(next_state=-9.0 * goal_distance((3, 4), 11))
    drawn = GridDrawing.of(World(5, constant(kernel), constant(reward), grid=(3, 4)))
    assert drawn.walls == (5,) and drawn.goals == (11,) and drawn.costly == ()
    assert drawn.arrows[0] == pytest.approx((0.0, 0.4)) and drawn.arrows[7] == pytest.approx((0.8, 0.0))
    assert set(drawn.arrows) == set(range(12)) - {5}
    assert "carried at the start" in drawn.legend()
    paths = tree.fromstring(f"<svg>{drawn.svg()}</svg>").findall("path")
    assert sum("stroke-opacity:0.6" in path.attrib["style"] for path in paths) == 11


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
