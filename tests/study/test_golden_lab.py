"""What the laboratory prints, stores and shows, against figures kept from an earlier version."""

import csv
import json
from contextlib import chdir
from pathlib import Path

import pytest

from page_data import SMALL, data_of
from replan.cli import run
from suite_worlds import small_suite

pytestmark = pytest.mark.usefixtures("in_process")
GOLDEN = Path(__file__).with_name("golden_lab.json")
STUDY = """
settings = [{ base = "two-burst", vary = { n = [5], horizon = [24] } }]
rules = ["periodic", "lookahead", { rule = "drift-threshold" }]
executions = ["map", "localised"]
measure = ["exact", "sampled", "optimum", "decomposition"]
seeds = { count = 20 }
intervals = false
"""
__all__ = ["small_suite"]


@pytest.fixture
def answer(tmp_path, capsys):
    """The JSON of a command that writes to `tmp_path`."""
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "study.toml").write_text(STUDY)

    def call(command):
        with chdir(tmp_path):
            status = run([*command.split(), "--json"])
        assert status == 0
        return json.loads(capsys.readouterr().out)

    return call


def test_compare_and_its_page(golden, answer, tmp_path):
    found = answer("compare periodic lookahead drift-threshold --settings small.toml --out here")
    golden(GOLDEN, "compare", {"settings": found["settings"]})
    golden(GOLDEN, "page of compare", data_of(tmp_path / "here" / "report.html"))


def _value(cell):
    try:
        return json.loads(cell)
    except ValueError:
        return cell


def test_run_and_its_page(golden, answer, tmp_path):
    found = answer("run study.toml --out here")
    golden(GOLDEN, "run", {name: found[name] for name in ("cells", "computed", "failed", "tables")})
    rows = csv.DictReader((tmp_path / "here" / "tables" / "cells.csv").read_text().splitlines())
    cells = [{name: _value(cell) for name, cell in row.items() if cell} for row in rows]
    golden(GOLDEN, "cells of run", cells)
    golden(GOLDEN, "page of run", data_of(tmp_path / "here" / "report.html"))


@pytest.mark.parametrize("rule", ["periodic", "last-moment"])
def test_benchmark(golden, answer, small_suite, rule):
    found = answer(f"benchmark {rule} --out here")
    del found["stated_by_author"]  # versions, and the time of a decision
    golden(GOLDEN, f"benchmark {rule}", found)
