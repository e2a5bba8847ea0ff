"""Cells of flights: flown together, measured apart."""

from dataclasses import replace

import numpy as np
import pytest

from replan.errors import InputError
from replan.evaluation.agent_runs import run_agent
from replan.model.slip import STAY
from replan.robots.crazyflie import flights
from replan.robots.crazyflie.crazyflow_flight import CrazyflowFlight
from replan.robots.crazyflie.flight import FlightOutcome
from replan.robots.crazyflie.flights import Flights, FlightScene, Job, Track
from replan.robots.crazyflie.layouts import cells_at, centres, make_wind
from replan.robots.crazyflie.physics import Physics
from replan.schedule.periodic import Periodic
from replan.study.cells import entries
from replan.study.definition import parse_study
from replan.study.engine import Batches
from replan.study.work import Failure, Result, compute_batch
from replan.worlds.forecasts import ForecastParameters


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

    def fly_batch(jobs, *, unit):
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

    monkeypatch.setattr(flights, "fly_batch", fly_batch)
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
    assert len(Batches(many * 4, workers=2).next() or ()) == flights.FEWEST_CELLS


def test_an_update_shows_the_middle_of_the_cell():
    seen = np.array([[0.31, 0.59], [3.5, 0.01]])
    assert (FlightScene("dense", 0).states_at(seen) == cells_at(seen)).all()
    middles = centres(FlightScene("dense", 0, cuts=3).states_at(seen), 3)
    assert middles == pytest.approx(centres(cells_at(seen)))


def test_a_report_is_the_true_future_of_the_grid_model():
    scene = FlightScene("dense", 1, forecast=ForecastParameters(kind="given"))
    mission = scene.mission()
    expected = mission.update(1).futures[0].kernel
    assert all(expected(t) is mission.world.kernel(t) for t in (1, 20, 59))
    (cell,) = cells(densities=["dense"], rules=["periodic"], forecasts=[{"kind": "given", "error": 0.5}])
    (job, *_) = flights._jobs(cell)
    assert job.scene.forecast == ForecastParameters(kind="given", error=0.5)
    assert job.rule == Periodic()


@pytest.mark.slow
def test_a_drone_flies_alike_to_the_bit_in_any_full_batch():
    paths = []
    for size, place in ((1, 0), (2, 0), (2, 700)):
        physics = Physics(size * flights.BATCH_UNIT)
        flight = CrazyflowFlight(
            physics, [make_wind("dense", k) for k in (*range(100, 100 + place), 0, 1, 2)]
        )
        flight.take_off()
        for action in (0, 2, 0):
            flight.move(np.full(place + 3, action))
        paths.append(flight.log().positions[:, place:])
        physics.close()
    assert (paths[1] == paths[0]).all() and (paths[2] == paths[0]).all()


@pytest.mark.parametrize("steps", [0, 1, 2])
@pytest.mark.parametrize("meanwhile", ["go-on", "wait"])
def test_drones_that_share_plans_fly_as_if_each_made_its_own(steps, meanwhile):
    mission = FlightScene("sparse", 1, update_steps=steps, meanwhile=meanwhile).mission()
    shared, own = (run_agent(each, Periodic(), seed=3) for each in (flights._sharing_plans(mission), mission))
    assert shared.actions.tolist() == own.actions.tolist() and shared.times == own.times
    hovering = [t for start in own.times for t in range(start, min(start + steps, mission.horizon))]
    assert meanwhile == "go-on" or all(own.actions[t] == STAY for t in hovering)


def test_a_study_flies_with_updates_that_take_moves(batches):
    late = cells(densities=["dense"], rules=["periodic"], update_steps=[0, 2], meanwhile=["go-on", "wait"])
    Flights.of_all(late)
    scenes = {(job.scene.update_steps, job.scene.meanwhile) for job in batches[0]}
    assert scenes == {(0, "go-on"), (2, "go-on"), (2, "wait")} and len({cell.latency for cell in late}) == 3
    with pytest.raises(InputError, match="one number"):
        FlightScene("dense", 0, update_steps={1: 0.5, 2: 0.5})  # type: ignore[arg-type]
