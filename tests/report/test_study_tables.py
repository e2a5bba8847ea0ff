"""The tables of a run, by hand."""

import csv
from math import isnan

import numpy as np
import pytest

from replan.cli import run as replan
from replan.errors import InputError
from replan.report.page.run_page import sentence
from replan.report.study_tables import pooled_placement, regret_tables, write_study_tables
from replan.results.run import read_run
from replan.results.store import Store
from replan.study.cells import entries, settings_rows
from replan.study.definition import parse_study
from replan.study.placement import measure_placement
from replan.study.work import Failure, Result, outcome_rows
from study_runs import computed

STUDY = parse_study(
    {
        "name": "hand",
        "settings": ["two-burst", "late-burst"],
        "rules": ["periodic", {"rule": "regret-guided", "grid": {"m": [1, 2]}}],
        "measure": ["exact", "placement"],
    }
)
ENTRIES = entries(STUDY)
NONE = np.empty(0)


def result(entry, regret, *, updates, inside, schedules=1, seconds=0.1):
    values = {
        "parameters": "{}",
        "exact_regret": regret,
        "schedules": schedules,
        "updates": updates,
        "updates_inside": inside,
        "intervals": 2 * schedules,
        "intervals_met": schedules,
        "mean_stale_drift": regret / 10,
        "max_stale_drift": regret,
    }
    return Result(entry.cell.key, seconds, seconds, "", values, NONE, NONE, NONE, ())


def describe(store, **how):
    store.describe("hand", "", [entry.row() for entry in ENTRIES], settings_rows(ENTRIES), **how)


def write(store, *outcomes):
    store.write(outcome_rows(outcomes, start=store.start))


@pytest.fixture
def run(tmp_path):
    with Store.begin(tmp_path / "run", resume=False) as store:
        describe(store, engine="none", workers=1, versions={})
        write(
            store,
            result(ENTRIES[0], 2.0, updates=3, inside=1),
            result(ENTRIES[1], 1.0 / 3, updates=3, inside=3),
            result(ENTRIES[2], 0.5, updates=3, inside=2),
            result(ENTRIES[3], 1.0, updates=10, inside=0, schedules=10),
            Failure(ENTRIES[4].cell.key, 0.1, "", "no"),
            Failure(ENTRIES[5].cell.key, 0.1, "", "no"),
        )
    return read_run(tmp_path / "run")


def test_regret_by_setting_and_rule_with_the_least_in_bold(run, tmp_path):
    write_study_tables(run, tmp_path)
    lines = (tmp_path / "regret.md").read_text().splitlines()
    assert lines[0] == "# hand: exact regret, execution map, estimator true-kernel"
    assert lines[2:6] == [
        "| setting | periodic | regret-guided |",
        "|---|---:|---:|",
        "| two-burst | 2.0000 | **0.3333 (2)** |",
        "| late-burst | **1.0000** | failed |",
    ]
    assert any("least value of the grid" in line for line in lines)


def test_a_regret_of_nothing_has_no_sign(tmp_path):
    with Store.begin(tmp_path / "run", resume=False) as store:
        describe(store, engine="none", workers=1, versions={})
        write(store, result(ENTRIES[0], -1e-17, updates=3, inside=1))
    (table, *_) = regret_tables(read_run(tmp_path / "run"))
    assert table.rows[0][1].text == "0.0000"


def test_placement_counts_every_setting_once(run, tmp_path):
    write_study_tables(run, tmp_path)
    lines = (tmp_path / "placement.md").read_text().splitlines()
    # periodic: 1 of 3 updates on one setting, 0 of 1 on the other; half of the intervals on both
    assert lines[4] == "| periodic | 0.2500 | 0.5000 | 0.1500 | 1.5000 |"
    assert lines[5] == "| regret-guided m=1 | 1.0000 | 0.5000 | 0.0333 | 0.3333 |"


def test_every_cell_is_a_line_of_the_csv(run, tmp_path):
    write_study_tables(run, tmp_path)
    with (tmp_path / "cells.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == ["periodic", "regret-guided m=1", "regret-guided m=2"] * 2
    assert rows[1]["exact_regret"] == "0.333333333333"
    assert rows[4]["exact_regret"] == ""


def test_the_order_in_which_cells_finished_leaves_no_trace(run, tmp_path):
    first = {path.name: path.read_bytes() for path in write_study_tables(run, tmp_path / "a")}
    with Store.begin(tmp_path / "other", resume=False) as other:
        describe(other, engine="ray", workers=7, versions={"x": "1"})
        for entry, regret, updates, inside, schedules in (
            (ENTRIES[3], 1.0, 10, 0, 10),
            (ENTRIES[2], 0.5, 3, 2, 1),
            (ENTRIES[1], 1.0 / 3, 3, 3, 1),
            (ENTRIES[0], 2.0, 3, 1, 1),
        ):
            done = result(entry, regret, updates=updates, inside=inside, schedules=schedules, seconds=9.0)
            write(other, done)
    files = write_study_tables(read_run(tmp_path / "other"), tmp_path / "b")
    second = {path.name: path.read_bytes() for path in files}
    assert first == second


def test_a_folder_that_cannot_be_written_is_one_line(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_study_tables(run, tmp_path / "file")


@pytest.fixture(scope="module", params=[["frozen", "given"], ["given", "frozen"]])
def two_forecasts(request, tmp_path_factory):
    """A run with two forecasts, in both orders."""
    study = {
        "settings": ["nsbridge-05"],
        "rules": ["even", "lookahead"],
        "forecasts": request.param,
        "measure": ["exact", "placement"],
        "seeds": {"count": 2},
    }
    folder = tmp_path_factory.mktemp("forecasts")
    return computed(study, folder), folder


def test_results_of_two_forecasts_are_told_apart_everywhere(two_forecasts, tmp_path, capsys):
    run, folder = two_forecasts
    write_study_tables(run, tmp_path)
    with (tmp_path / "cells.csv").open() as file:
        assert len({(row["rule"], row["forecast"]) for row in csv.DictReader(file)}) == 4
    regrets = (tmp_path / "regret.md").read_text()
    for record in run.records:
        assert f"{record['exact_regret']:.4f}" in regrets
    assert regrets.count("# small: exact regret") == 2 and "(2)" not in regrets
    assert (tmp_path / "placement.md").read_text().count("# small: placement of updates") == 2
    assert replan(["results", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len({tuple(line.split()[1:6]) for line in lines[1:]}) == 4
    with Store.open(folder) as store:
        stored = store.execute("select setting, forecast from settings order by forecast")
    assert stored == [("nsbridge-05", "frozen"), ("nsbridge-05", "given")]


def test_the_headline_does_not_depend_on_the_order_of_the_forecasts(two_forecasts):
    regrets = {(each["rule"], each["forecast"]): each["exact_regret"] for each in two_forecasts[0].records}
    best = min(regrets, key=lambda key: regrets[key])
    assert best[1] == "given" and f"{best[0]}, given loses least of 4 rules" in sentence(two_forecasts[0])


def test_with_prices_the_best_objective_is_not_called_the_least_regret(tmp_path):
    axis = {"base": "two-burst", "vary": {"n": [4], "horizon": [15], "price": [0.05]}}
    run = computed({"settings": [axis], "rules": ["lookahead"], "measure": ["exact", "optimum"]}, tmp_path)
    tables = {table.title.split(": ")[1].split(",")[0]: table for table in regret_tables(run)}
    assert list(tables["exact regret"].columns) == ["setting", "lookahead"]
    priced = tables["exact regret plus the price of the updates"]
    assert list(priced.columns) == ["setting", "lookahead", "best possible"]
    (row,) = priced.cells
    assert float(row[2].text) <= float(row[1].text)


def placed(times, intervals):
    drift = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    return {"schedules": 1, **vars(measure_placement(times, drift, intervals))}


def test_pooling_counts_updates_together_and_averages_the_rest():
    few, many = placed((1, 3), [(3, 4)]), placed((1, 2, 4, 5), [(1, 2), (6, 7)])
    precision, coverage, *stale = pooled_placement([few, many])
    assert (precision, coverage) == (1 / 4, 1 / 2)
    names = ("mean_stale_drift", "max_stale_drift")
    assert stale == pytest.approx([(few[name] + many[name]) / 2 for name in names])


def test_one_update_has_no_precision_and_no_interval_no_coverage():
    assert isnan(pooled_placement([placed((1,), [(2, 4)])])[0])
    assert isnan(pooled_placement([placed((1, 4), [])])[1])
    assert pooled_placement([placed((1, 3), []), placed((1, 3), [(3, 4)])])[1] == 1, "of those that have one"
