"""Flights as a measure of studies, and Table 3 on a few of them beside the paper's figures."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from replan import FixedTimes, InputError, Periodic, regret
from replan.report.reports import drones, reference
from replan.report.reports.drones import VALIDATION_LAYOUTS, Flights, choose_rule, drawn_tracks, table_3
from replan.robots import FlightOutcome, FlightScene, Job, Track, draw_flights, fly_batch
from replan.study.candidates import candidates
from replan.study.cells import entries
from replan.study.definition import LAYOUTS_AT_MOST, parse_study
from replan.study.engine import Batches
from replan.study.work import Failure, Result, compute_batch
from replan.worlds.forecasts import ForecastParameters
from study_runs import computed


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two layouts of two densities, two rules; the batch is not filled up with other drones."""
    study = {
        "densities": ["none", "dense"],
        "layouts": 2,
        "rules": ["regret-guided", "front-loaded"],
        "measure": ["flight"],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drones, "fly_batch", partial(fly_batch, unit=8))
        return computed(study, tmp_path_factory.mktemp("table3"))


def test_every_rule_flies_every_layout(run):
    assert [(record["setting"], record["rule"]) for record in run.records] == [
        ("none obstacles", "regret-guided"),
        ("none obstacles", "front-loaded"),
        ("dense obstacles", "regret-guided"),
        ("dense obstacles", "front-loaded"),
    ]
    assert all(len(record["flights"]) == 2 for record in run.records)
    assert run.records[0]["parameters"]["score"] == "gap+drift"


def test_the_table_shows_means_with_intervals_beside_the_papers(run):
    none, dense = table_3(run)
    printed = {(row["density"], row["rule"]): row["cost"] for row in reference("paper-table3")}
    assert "no obstacles" in none.title and "dense" in dense.title
    assert none.rows[0][:2] == ("regret-guided", "map") and none.rows[0][3] == "0.93"
    for row, record in zip((*none.rows, *dense.rows), run.records, strict=True):
        costs = [flight["cost"] for flight in record["flights"]]
        mean, low, high = (float(part) for part in re.findall(r"[\d.]+", row[6]))
        assert mean == pytest.approx(np.mean(costs), abs=0.01)
        assert min(costs) - 0.01 <= low <= mean <= high <= max(costs) + 0.01
        assert row[7] == printed[run.data[record["setting"]]["density"], record["rule"]]
    assert none.rows[0][8].startswith("+0.00")
    assert "cannot be told from 0" in none.notes[1]
    assert "| front-loaded | map |" in dense.markdown()


def test_a_run_without_flights_has_no_table_of_them(run):
    assert table_3(replace(run, records=[{**record, "flights": None} for record in run.records])) == []


def test_the_figure_has_a_panel_for_each_density(run, tmp_path):
    figure = draw_flights(drawn_tracks(run), path=tmp_path / "flights.png")
    assert [axes.get_title() for axes in figure.axes] == ["none, layout 1", "dense, layout 1"]
    for axes in figure.axes:
        assert "update" in axes.get_legend_handles_labels()[1]
        assert len({label for label in axes.get_legend_handles_labels()[1] if "map" in label}) == 2
    assert (tmp_path / "flights.png").stat().st_size > 10_000


def test_thresholds_are_chosen_on_validation_layouts_alone():
    chosen = choose_rule("best-offset", "sparse")
    numbers = range(LAYOUTS_AT_MOST, LAYOUTS_AT_MOST + VALIDATION_LAYOUTS)
    missions = [FlightScene("sparse", k).mission() for k in numbers]

    def total(rule):
        return sum(regret(mission, FixedTimes(rule.times(60, 6))) for mission in missions)

    assert total(chosen) == pytest.approx(min(map(total, candidates("best-offset", missions[0]))))


def cells(**changes):
    data = {
        "name": "flights",
        "densities": ["sparse", "dense"],
        "layouts": 5,
        "rules": ["periodic", "front-loaded", "back-loaded"],
        "measure": ["flight"],
        **changes,
    }
    return tuple(entry.cell for entry in entries(parse_study(data)))


@pytest.fixture
def batches(monkeypatch) -> list[list[Job]]:
    """Batches that were asked for; each flight costs its layout's number."""
    seen: list[list[Job]] = []

    def fly_batch(jobs):
        seen.append(list(jobs))
        if any(job.rule.name == "random" for job in jobs):
            raise ArithmeticError("a drone was lost")
        none = np.empty((0, 2))
        return [
            Track(
                job.scene.density,
                job.scene.number,
                job.rule.name,
                job.scene.execution,
                none,
                none,
                (1,),
                FlightOutcome(True, 0, 1.0, float(job.scene.number), False, 22),
            )
            for job in jobs
        ]

    monkeypatch.setattr(drones, "fly_batch", fly_batch)
    return seen


def costs(values) -> list[float]:
    return [each["cost"] for each in values]


class Twelve(Flights):
    """Flights, at most twelve at once."""

    largest_batch = 12


class Four(Flights):
    """Flights, at most four heavy ones at once."""

    heavy_batch = 4


def test_cells_fly_together_and_each_gets_its_own_layouts_in_order(batches):
    found = Twelve.of_all(cells())
    assert [costs(made.flights) for _, made in found] == 6 * [[0, 1, 2, 3, 4]]
    assert [len(batch) for batch in batches] == [12, 12, 6]  # two layouts of each cell at a time
    assert {(job.scene.density, job.rule.name) for job in batches[0]} == {
        (density, rule)
        for density in ("sparse", "dense")
        for rule in ("periodic", "front-loaded", "back-loaded")
    }


def test_flights_that_take_much_memory_fly_apart_and_fewer_at_once(batches):
    light, fine = cells(rules=["periodic"]), cells(rules=["periodic"], cuts=3)
    foretold = cells(rules=["periodic"], forecasts=["given"])
    found = compute_batch(tuple(replace(cell, measure=(Four,)) for cell in (*light, *fine, *foretold)))
    assert all(isinstance(each, Result) for each in found)
    assert [len(batch) for batch in batches] == [10, 4, 4, 2, 4, 4, 2]
    assert [batch[0].scene.cuts for batch in batches] == [1, 3, 3, 3, 1, 1, 1]
    assert all(job.scene.forecast is not None for batch in batches[4:] for job in batch)


def test_a_cell_that_fails_takes_no_other_down(batches):
    found = compute_batch(cells(densities=["dense"], rules=["periodic", "random", "front-loaded"]))
    assert [type(each) for each in found] == [Result, Failure, Result]
    assert "a drone was lost" in found[1].reason


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"densities": ["thick"]}, "densities"),
        ({"cuts": 2}, "cuts"),
    ],
)
def test_a_study_of_flights_that_cannot_be_flown_is_refused(changes, words):
    with pytest.raises(InputError, match=words):
        cells(**changes)


def test_work_comes_in_batches_of_many_flights():
    few, many = cells(rules=["periodic"]), cells(layouts=500, densities=["none", "sparse", "dense"])
    assert len(Batches(few * 30, workers=2).next() or ()) == 30  # half of them to each worker
    assert len(Batches(many * 4, workers=2).next() or ()) == drones.FEWEST_CELLS


def test_a_cell_names_the_forecast_and_the_rule_of_its_flights():
    (cell,) = cells(densities=["dense"], rules=["periodic"], forecasts=[{"kind": "given", "error": 0.5}])
    (job, *_) = drones._jobs(cell)
    assert job.scene.forecast == ForecastParameters(kind="given", error=0.5)
    assert job.rule == Periodic()


def test_a_study_flies_with_updates_that_take_moves(batches):
    late = cells(densities=["dense"], rules=["periodic"], update_steps=[0, 2], meanwhile=["go-on", "wait"])
    Flights.of_all(late)
    scenes = {(job.scene.update_steps, job.scene.meanwhile) for job in batches[0]}
    assert scenes == {(0, "go-on"), (2, "go-on"), (2, "wait")} and len({cell.latency for cell in late}) == 3
