"""Tables of study `looks-and-plans`, and the heat map."""

import numpy as np
import pytest

from replan.evaluation.look_plan_grid import look_plan_grid
from replan.execute import Mission
from replan.report.look_plan_tables import budgets_table, look_plan_figure, worth_table
from replan.schedule import Periodic
from replan.worlds import rover
from study_runs import computed

BRIDGE = {
    "name": "looks-and-plans",
    "settings": ["nsbridge-05"],
    "rules": ["periodic"],
    "executions": ["map", "belief"],
    "measure": ["looks-and-plans"],
    "decisions": False,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return computed(BRIDGE, tmp_path_factory.mktemp("run"))


def test_corners_of_the_grid_are_in_the_table_of_worths(run):
    table = worth_table(run)
    floors = np.array(run.records[0]["looks_and_plans"]["floors"])
    assert [row[:2] for row in table.rows] == [("nsbridge-05", "likeliest cell"), ("", "belief")]
    corners = (floors[0, 0], floors[-1, 0], floors[0, -1], floors[-1, -1])
    assert table.rows[0][2:6] == tuple(f"{value:z.3f}" for value in corners)


def test_every_pair_of_budgets_has_its_floor_and_its_rule(run):
    table, found = budgets_table(run), run.records[0]["looks_and_plans"]
    budgets = len(found["plans"])
    assert len(table.rows) == 2 * budgets
    for column in range(budgets):
        for row in range(budgets):
            floor, even = table.rows[column][3 + row].split(" / ")
            assert floor == f"{found['floors'][row][column]:z.3f}"
            assert even == f"{found['regrets'][row][column]:z.3f}"
    assert (np.array(found["floors"]) <= np.array(found["regrets"]) + 1e-9).all()


@pytest.mark.parametrize("floor", [True, False])
def test_the_heat_map_has_a_panel_for_the_rule_and_one_for_the_floor(floor):
    mission = Mission(rover(3, np.linspace(0.1, 0.5, 6)), budget=2, planning_horizon=3)
    grid = look_plan_grid(mission, lambda apart: Periodic(), (1, 2, 3), (1, 2), floor=floor)
    assert grid.regrets.shape == (3, 2)
    assert grid.plans_per_look.shape == (2, 1)
    figure = look_plan_figure(grid, title="tiny")
    assert len(figure.axes) == 1 + floor
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert shown == [f"{value:z.2f}" for value in grid.regrets.flat]
