"""What the command line says of slips, and of figures that do not exist."""

import json
from typing import get_args

import pytest

from replan.cli import run
from replan.commands.listing import KINDS
from replan.results.table import Table, TableCell
from replan.skip.acting import EXECUTIONS
from replan.worlds.forecasts import ForecastKind

SMALL = """
world = "rover"
n = 3
horizon = 8
planning_horizon = 3
budget = 2
[drift]
kind = "linear"
slip = 0.05
rate = 0.04
"""

STUDY = 'settings = ["two-burst"]\nrules = ["periodic"]\n'


@pytest.mark.parametrize("forecast", ["trend", "mixture"])
def test_with_a_price_a_floor_that_is_not_computed_is_null(forecast, tmp_path, capsys):
    (tmp_path / "small.toml").write_text(SMALL)
    options = ["--price", "0.05", "--forecast", forecast, "--json", "--out", str(tmp_path / "run")]
    status = run(["compare", "lookahead", "fixed-rate", "--settings", str(tmp_path / "small.toml"), *options])
    assert status == 0
    (row,) = json.loads(capsys.readouterr().out)["settings"]
    assert row["best_possible"] is None
    assert all(result["regret"] >= 0 for result in row["results"])


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("seeds = 100", "'seeds' must be a table such as seeds = { first = 0, count = 100 }, not 100"),
        ('execution = "map"', "unknown key 'execution': did you mean executions?"),
        (
            "budgets = [2, 3]",
            "unknown key 'budgets': did you mean settings = [{ base = NAME, vary = { budget",
        ),
    ],
)
def test_a_slip_in_a_study_is_told_what_to_write(key, said, tmp_path, capsys):
    (tmp_path / "study.toml").write_text(STUDY + key)
    assert run(["run", str(tmp_path / "study.toml")]) == 2
    assert said in capsys.readouterr().err


def test_only_options_that_are_nearly_the_same_are_suggested(capsys):
    assert run(["optimum", "two-burst", "--rule", "periodic"]) == 2
    assert capsys.readouterr().err == "replan: No such option: --rule\n"
    assert run(["optimum", "two-burst", "--prise", "1"]) == 2
    assert capsys.readouterr().err == "replan: No such option: --prise: did you mean --price?\n"


@pytest.mark.parametrize("terminal", ["dumb", "xterm-256color"])
def test_no_terminal_shows_asterisks(terminal, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as a terminal
    monkeypatch.setenv("TERM", terminal)
    Table("regret", ["rule", "regret"], [["periodic", TableCell("0.3409", best=True)]]).show()
    shown = capsys.readouterr().out
    assert "0.3409" in shown and "*" not in shown


@pytest.mark.parametrize(
    ("kind", "options"), [("forecasts", get_args(ForecastKind)), ("executions", EXECUTIONS)]
)
def test_every_forecast_and_execution_that_an_option_takes_is_listed(kind, options):
    assert {entry["name"] for entry in KINDS[kind]()} == set(options)
