"""What a run says of itself while it goes on."""

import io
import sys

import pytest

from replan.study.cells import entries
from replan.study.definition import parse_study
from replan.study.runner import ProgressLine, Tally
from replan.study.versions import code_version
from replan.study.work import Failure, Result

STUDY = parse_study(
    {"name": "s", "settings": ["two-burst", "late-burst"], "rules": ["periodic", "random", "front-loaded"]}
)
ENTRIES = entries(STUDY, version=code_version())
KEYS = [entry.cell.key for entry in ENTRIES]


def result(key, **values):
    return Result(key, 0.1, 0.1, "", values, *[[]] * 3, ())


@pytest.fixture
def tally():
    """Of six cells one was stored before and three are done now, one of them in vain."""
    tally = Tally.of(ENTRIES, [(KEYS[0], 0.9), (12345, 0.1)])
    tally.add([result(KEYS[1], exact_regret=0.5, sampled_regret=9.0), Failure(KEYS[2], 0.1, "", "no")])
    tally.add([result(KEYS[3], sampled_regret=2.0)])
    return tally


def test_the_best_per_setting_includes_what_was_stored_before(tally):
    assert (tally.done, tally.failed, tally.total) == (4, 1, 6)
    assert tally.best == {"two-burst": (0.5, "random"), "late-burst": (2.0, "periodic")}


def test_one_cell_is_not_several():
    assert Tally(1).line(0.0) == "0 of 1 cell"


def test_rate_and_time_left_come_from_the_last_while(tally):
    assert tally.line(100.0) == "4 of 6 cells, 1 failed"
    tally.add([result(KEYS[4], exact_regret=1.0)])
    assert tally.line(120.0) == "5 of 6 cells, 1 failed, 0.05 a second, 0:20 left"
    assert tally.line(1000.0) == "5 of 6 cells, 1 failed"


def test_plain_lines_when_not_on_a_terminal(tally, capsys):
    with ProgressLine(tally) as progress:
        for _ in range(5):
            progress.update()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == ["4 of 6 cells, 1 failed"] * 2  # the first, and the last


def test_a_live_table_on_a_terminal(tally, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressLine(tally) as progress:
        progress.update()
    assert "least regret" in terminal.getvalue()
    assert "0.5000" in terminal.getvalue()


def test_nothing_is_said_where_nothing_is_wanted(tally, capsys):
    with ProgressLine(tally, quiet=True) as progress:
        progress.update()
    assert capsys.readouterr() == ("", "")
