"""Table 3 on a few flights: the protocol, the figures of the paper, and what is written of it."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from replan.evaluation.exact import regret
from replan.execute.agent import Agent
from replan.model.slip import MOVES
from replan.report.reports import reference
from replan.results.measure import Measure
from replan.robots.crazyflie.flight import FlightLog, fly
from replan.robots.crazyflie.flight_report import drawn_tracks, flight_figure, table_3, write_flight_log
from replan.robots.crazyflie.flights import (
    VALIDATION_LAYOUTS,
    Flights,
    FlightScene,
    Job,
    choose_rule,
    track,
)
from replan.robots.crazyflie.layouts import (
    FIRST_VALIDATION_LAYOUT,
    START,
    cells_at,
    centres,
    layout,
    make_wind,
    state_of,
)
from replan.robots.crazyflie.world import crazyflie_mission
from replan.schedule.fixed import FixedTimes
from replan.schedule.periodic import Periodic
from replan.study.candidates import candidates
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
        patch.setitem(Measure.named, "flight", FewDrones)
        return computed(study, tmp_path_factory.mktemp("table3"))


class FewDrones(Flights):
    """Flights in batches that are not filled up."""

    batch_unit = 8


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
    figure = flight_figure(drawn_tracks(run), path=tmp_path / "flights.png")
    assert [axes.get_title() for axes in figure.axes] == ["none, layout 1", "dense, layout 1"]
    for axes in figure.axes:
        assert "update" in axes.get_legend_handles_labels()[1]
        assert len({label for label in axes.get_legend_handles_labels()[1] if "map" in label}) == 2
    assert (tmp_path / "flights.png").stat().st_size > 10_000


def test_thresholds_are_chosen_on_validation_layouts_alone():
    chosen = choose_rule("best-offset", "sparse")
    numbers = range(FIRST_VALIDATION_LAYOUT, FIRST_VALIDATION_LAYOUT + VALIDATION_LAYOUTS)
    missions = [crazyflie_mission(layout("sparse", k), make_wind("sparse", k)) for k in numbers]

    def total(rule):
        return sum(regret(mission, FixedTimes(rule.times(60, 6))) for mission in missions)

    assert total(chosen) == pytest.approx(min(map(total, candidates("best-offset", missions[0]))))


class Teleport:
    """A `Flight` that is always where it is told to be."""

    drones = 1
    landing = tracking = None

    def __init__(self) -> None:
        self.place = centres(state_of(START))
        self.samples = [(0.0, -1, self.place)]

    def take_off(self) -> None: ...

    def land(self) -> None: ...

    def localise(self, which):
        return self.place[None]

    def move(self, actions) -> None:
        to = np.clip(cells_at(self.place) // 12 + MOVES[actions[0], 0], 0, 11)
        self.place = centres(to * 12 + np.clip(cells_at(self.place) % 12 + MOVES[actions[0], 1], 0, 11))
        self.samples.append((2.0 * len(self.samples), len(self.samples) - 1, self.place))

    def log(self) -> FlightLog:
        times, moves, places = zip(*self.samples, strict=True)
        flat = np.column_stack([np.array(places), np.full(len(places), 0.5)])[:, None, :]
        return FlightLog(
            np.array(times), np.array(moves), flat, np.where(np.array(moves) < 0, np.nan, flat.T).T
        )


def test_a_flight_becomes_a_robot_log(tmp_path):
    from mcap.reader import make_reader

    job = Job(FlightScene("dense", 3), Periodic())
    mission = crazyflie_mission(layout("dense", 3), make_wind("dense", 3, strength=0.0))
    flown = fly(Teleport(), [Agent.on(mission, job.rule)])
    write_flight_log(tmp_path / "flight.mcap", flown, layout("dense", 3))
    with (tmp_path / "flight.mcap").open("rb") as file:
        messages = [
            (schema.name, channel.topic, json.loads(message.data))
            for schema, channel, message in make_reader(file).iter_messages()
        ]
    poses = [m["pose"]["position"] for _, topic, m in messages if topic == "/robot/pose"]
    setpoints = [m for _, topic, m in messages if topic == "/robot/setpoint"]
    assert (len(poses), len(setpoints)) == (23, 22)  # 22 moves to the goal; no setpoint before the first
    assert poses[-1]["x"] == pytest.approx(flown.log.positions[-1, 0, 0])
    updates = [m for _, topic, m in messages if topic == "/decisions"]
    assert [m["step"] for m in updates] == list(track(job, flown).update_times) == [1, 13]
    assert all(m["reason"] for m in updates)
    (scene,) = [m for name, _, m in messages if name == "foxglove.SceneUpdate"]
    assert len(scene["entities"][0]["cylinders"]) == 29
