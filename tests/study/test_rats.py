"""The published planners on the bridge of RATS, judged by their published means and by another program."""

import pytest

from replan.study.rats import best_return, comparisons

EXACT = {  # by another program: planned on the future, planned on a snapshot, optimum
    "nsbridge-0": (0.493, 0.493, 0.493),
    "nsbridge-025": (-0.043, -0.043, -0.043),
    "nsbridge-05": (-0.053, -0.450, -0.052),
    "nsbridge-075": (0.362, -0.612, 0.362),
    "nsbridge-1": (0.662, -0.774, 0.662),
}


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
