"""Tables that come with replan are read back as they were written, and are true."""

import pytest

from replan.evaluation.budget_curve import budget_curve
from replan.report import reference
from replan.report.reference import reference_table
from replan.report.tables import Cell, Table, number
from replan.schedule.lookahead import Lookahead
from replan.worlds.settings import PAPER_SETTINGS, load_setting, make_mission


def test_a_table_is_read_back_as_it_was_written(tmp_path, monkeypatch):
    rows = [("a|b", number(0.5, best=True), "*x*"), ("", number(-1.25), "–")]
    table = Table("Title", ("name", "value", "words"), rows, ("A note with `code`.",))
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "mine.md").write_text(table.markdown())
    monkeypatch.setattr(reference.resources, "files", lambda package: tmp_path)
    read = reference_table("mine")
    assert (read.title, read.columns, read.notes) == ("Title", ["name", "value", "words"], list(table.notes))
    assert read.rows == [
        [Cell("a|b"), Cell("0.500", 0.5, best=True), Cell("*x*")],
        [Cell("a|b"), Cell("-1.250", -1.25), Cell("–")],  # the name of a row that continues is filled in
    ]
    assert reference_table("another") is None


@pytest.mark.parametrize(
    "setting",
    [pytest.param(name, marks=[] if name == "two-burst" else pytest.mark.slow) for name in PAPER_SETTINGS],
)
def test_the_curves_of_lookahead_are_those_that_the_library_computes(setting):
    rows = {
        name.text: [cell.value for cell in row] for name, *row in reference_table("lookahead-budgets").cells
    }
    mission = make_mission(load_setting(setting))
    curve = budget_curve(mission, lambda spending: Lookahead(), most=8, floor=False)
    assert rows[setting] == pytest.approx(curve.regrets, abs=6e-5)
