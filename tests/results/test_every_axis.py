"""Studies over all axes: every cell stands once in the store, the CSV, the tables and the page."""

import csv
import re
import tempfile
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replan.errors import InputError
from replan.report.page.run_page import write_page
from replan.report.study_tables import write_study_tables
from replan.results.key import RecordKey
from replan.results.run import read_run
from replan.results.store import Store
from replan.study.cells import entries, settings_rows
from replan.study.definition import parse_study
from replan.study.work import Result, outcome_rows

SMALL = {"horizon": [20], "n": [4]}
AXES = {
    "settings": ["two-burst", {"base": "two-burst", "name": "my own", "vary": SMALL}],
    "rules": ["lookahead", {"rule": "periodic", "name": "my own"}],
    "executions": ["map", "belief"],
    "forecasts": ["frozen", {"kind": "given", "late": 2}],
    "estimators": ["true-kernel", "drift-bounded-mle"],
    "stated_bounds": ["right", "shifted"],
    "budgets": {"budget": [2, 3]},
    "prices": {"price": [0.01, 0.1]},
    "ties": {"ties": ["first", "last"]},
    "grids": {"m": [1, 2]},
}
"""Axes of studies with all values that are tried."""


def study_of(axes: dict):
    """The study with those values on those axes, and one value on each of the others."""
    varied = {
        key: value for name in ("budgets", "prices", "ties") for key, value in axes.get(name, {}).items()
    }
    if "budget" in varied and "price" in varied:
        varied["budget"] = [2]
    named = axes.get("settings", ["two-burst"])
    bases = [base if isinstance(base, dict) else {"base": base} for base in named]
    data = {
        "settings": [base | {"vary": base.get("vary", {}) | varied} for base in bases],
        "rules": [*axes.get("rules", ["lookahead"])],
        "measure": ["sampled"] if "estimators" in axes else ["exact", "optimum"],
        **{
            key: axes[key]
            for key in ("executions", "forecasts", "estimators", "stated_bounds")
            if key in axes
        },
    }
    if "grids" in axes:
        data["rules"].append({"rule": "regret-guided", "grid": axes["grids"]})
    return parse_study({"name": "drawn", **data})


def check(axes: dict) -> None:
    planned = entries(study_of(axes))
    column = "sampled_regret" if "estimators" in axes else "exact_regret"
    regrets = {entry.key: float(f"{1 + place / 1000:.3f}") for place, entry in enumerate(planned)}
    assert len(regrets) == len({entry.cell.key for entry in planned}) == len(planned)
    results = [
        Result(entry.cell.key, 0.0, 0.0, "", {"parameters": "{}", column: regrets[entry.key]})
        for entry in planned
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store.begin(folder, resume=False) as store:
            rows = [entry.row() for entry in planned]
            store.describe("drawn", "", rows, settings_rows(planned), engine="", workers=1, versions={})
            store.write(outcome_rows(results, start=store.start))
        run = read_run(folder)
        write_study_tables(run, folder)
        page = write_page(replace(run, settings={}), folder).read_text()
        tables = (folder / "regret.md").read_text()
        with (folder / "cells.csv").open() as file:
            lines = list(csv.DictReader(file))
    assert {RecordKey.of(record): record[column] for record in run.records} == regrets
    assert {RecordKey.of(line): float(line[column]) for line in lines} == regrets
    assert len(run.records) == len(lines) == len(planned)
    shown = least_of_grids(regrets)
    assert Counter(re.findall(r"\b1\.\d{3}0\b", tables)) == Counter(f"{value:.4f}" for value in shown)
    (table,) = re.findall(r'<table id="regrets".*?</table>', page, re.DOTALL)
    assert Counter(re.findall(r">(1\.\d{3})<", table)) == Counter(f"{value:.3f}" for value in shown)
    (table,) = re.findall(r'<table id="records-long".*?</table>', page, re.DOTALL)
    assert table.count("<tr>") == 1 + len(shown)


def least_of_grids(regrets: dict[RecordKey, float]) -> list[float]:
    """Of the points of a grid, tables show the least."""
    least: dict[RecordKey, float] = {}
    for key, value in regrets.items():
        point = replace(key, label=key.rule)
        least[point] = min(value, least.get(point, value))
    return list(least.values())


@pytest.mark.parametrize("pair", list(combinations(AXES, 2)), ids="-".join)
def test_every_pair_of_axes(pair):
    check({name: AXES[name] for name in pair})


@st.composite
def drawn_axes(draw) -> dict:
    axes = {}
    for name in draw(st.sets(st.sampled_from(sorted(AXES)), min_size=1, max_size=4)):
        values = AXES[name]
        if isinstance(values, list):
            axes[name] = draw(st.lists(st.sampled_from(values), min_size=1, unique_by=str))
        else:
            ((key, options),) = values.items()
            axes[name] = {key: draw(st.lists(st.sampled_from(options), min_size=1, unique=True))}
    return axes


@settings(max_examples=8, deadline=None)
@given(drawn_axes())
def test_any_study(axes):
    check(axes)


@pytest.mark.parametrize(
    "changes",
    [
        {
            "rules": ["lookahead", {"rule": "periodic", "name": "lookahead, belief"}],
            "executions": ["map", "belief"],
        },
        {"rules": ["lookahead", {"rule": "periodic", "name": "lookahead"}]},
        {"settings": ["two-burst", {"base": "late-burst", "name": "two-burst"}]},
    ],
)
def test_names_that_would_be_one_line_of_a_table_are_refused(changes):
    with pytest.raises(InputError, match="give one a `name`"):
        entries(parse_study({"name": "a", "settings": ["two-burst"], "rules": ["periodic"], **changes}))
