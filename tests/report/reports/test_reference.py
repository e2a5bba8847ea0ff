"""Tables that come with replan are read back as they were written, and are true."""

import pytest

from replan.evaluation.scale import budget_curve
from replan.report.reports import reference
from replan.schedule.lookahead import Lookahead
from replan.worlds.settings import PAPER_SETTINGS, load_setting, make_mission


@pytest.mark.parametrize(
    "setting",
    [pytest.param(name, marks=[] if name == "two-burst" else pytest.mark.slow) for name in PAPER_SETTINGS],
)
def test_the_curves_of_lookahead_are_those_that_the_library_computes(setting):
    rows = {
        name: list(map(float, values))
        for name, *values in (row.values() for row in reference("lookahead-budgets"))
    }
    mission = make_mission(load_setting(setting))
    curve = budget_curve(mission, lambda spending: Lookahead(), most=8, floor=False)
    assert rows[setting] == pytest.approx(curve.regrets, abs=6e-5)
