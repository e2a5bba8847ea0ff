"""Tables of study `rats`: published means beside exact values, and the bridge with a budget."""

import pytest

from replan.evaluation.exact import regret
from replan.report.reports.rats import best_return, budget_table, comparisons, published_table
from replan.schedule.periodic import Periodic
from replan.worlds.settings import load_setting, make_mission
from study_runs import computed

EXACT = {  # by another program: planned on the future, planned on a snapshot, optimum
    "nsbridge-0": (0.493, 0.493, 0.493),
    "nsbridge-025": (-0.043, -0.043, -0.043),
    "nsbridge-05": (-0.053, -0.450, -0.052),
    "nsbridge-075": (0.362, -0.612, 0.362),
    "nsbridge-1": (0.662, -0.774, 0.662),
}
SMALL = {
    "settings": [{"base": "nsbridge-05", "vary": {"budget": [1, 8]}}],
    "rules": ["periodic", "front-loaded"],
    "executions": ["map", "belief"],
    "measure": ["exact", "optimum"],
}


def test_all_ten_published_means_stand_beside_exact_values():
    table = published_table()
    assert [row[0] for row in table.rows] == ["0", "0.25", "0.5", "0.75", "1"]
    assert table.rows[2][1:5] == ("-0.077 ± 0.035", "-0.053", "-0.463 ± 0.045", "-0.450")
    assert "10 of 10" in table.notes[0]


def test_rules_that_agree_in_every_budget_share_a_row(tmp_path):
    table = budget_table(computed(SMALL, tmp_path))
    assert table.columns[3:] == ("B = 1", "B = 8")
    assert [row[:3] for row in table.rows] == [("0.5", "map", "all rules"), ("0.5", "belief", "all rules")]
    for row, execution in zip(table.rows, ("map", "belief"), strict=True):
        for text, budget in zip(row[3:], (1, 8), strict=True):
            mission = make_mission(load_setting("nsbridge-05"), execution=execution, budget=budget)
            assert float(text) == pytest.approx(regret(mission, Periodic()), abs=0.0005)


@pytest.mark.parametrize("name", ["nsbridge-05", "nsbridge-075", "nsbridge-1"])
def test_with_any_budget_the_robot_earns_what_the_planner_on_a_snapshot_does(name):
    (snapshot,) = [cell.exact for cell in comparisons() if (cell.setting, cell.planner) == (name, "snapshot")]
    for budget in range(1, 9):
        mission = make_mission(load_setting(name), budget=budget)
        assert best_return(name) - regret(mission, Periodic()) == pytest.approx(snapshot, abs=1e-9)


def test_ten_of_ten_cells_lie_within_two_standard_errors_of_the_published_means():
    found = list(comparisons())
    assert len(found) == 10
    assert max(cell.standard_errors_apart for cell in found) < 2


def test_exact_values_are_those_of_another_program():
    for cell in comparisons():
        assert cell.exact == pytest.approx(EXACT[cell.setting][cell.planner == "snapshot"], abs=0.001)


@pytest.mark.parametrize("setting", EXACT)
def test_the_optimum_is_that_of_another_program_and_no_planner_beats_it(setting):
    assert best_return(setting) == pytest.approx(EXACT[setting][2], abs=0.001)
    assert all(
        cell.exact <= best_return(setting) + 1e-12 for cell in comparisons() if cell.setting == setting
    )
