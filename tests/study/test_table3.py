"""Table 3 on a few flights: the protocol, the figures of the paper, and what is written of it."""

import json

import numpy as np
import pytest

from replan.evaluation.exact import regret
from replan.execute import Agent
from replan.model import MOVES
from replan.report.flight_figure import flight_figure
from replan.report.flight_log import write_flight_log
from replan.report.flight_table import table_3
from replan.schedule import FixedTimes, Periodic
from replan.study import table3 as study
from replan.study.flights import Job, track
from replan.worlds.crazyflie.flight import FlightLog, fly
from replan.worlds.crazyflie.layouts import (
    DENSITIES,
    FIRST_VALIDATION_LAYOUT,
    START,
    cells_at,
    centres,
    layout,
    state_of,
)
from replan.worlds.crazyflie.wind import wind
from replan.worlds.crazyflie.world import crazyflie_mission


@pytest.fixture(scope="module")
def small():
    """Two layouts of two densities, two rules: flown in two batches of one shape."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "LARGEST_BATCH", 4)
        said = []
        made = study.table3(
            layouts=2,
            rules=("regret-guided", "front-loaded"),
            executions=("map",),
            densities=("none", "dense"),
            progress=lambda what, share: said.append((what, share)),
        )
    return made, said


def test_every_rule_flies_every_layout(small):
    made, said = small
    assert [(row.density, row.rule) for row in made.rows] == [
        ("none", "regret-guided"),
        ("none", "front-loaded"),
        ("dense", "regret-guided"),
        ("dense", "front-loaded"),
    ]
    assert all(len(row.outcomes) == 2 for row in made.rows)
    assert said[-1] == ("flying", 1.0)


def test_rows_are_means_with_intervals_and_the_papers_figures(small):
    made, _ = small
    for row in made.rows:
        costs = [flight.cost for flight in row.outcomes]
        assert row.cost.mean == pytest.approx(np.mean(costs))
        assert min(costs) - 1e-9 <= row.cost.low <= row.cost.mean <= row.cost.high <= max(costs) + 1e-9
        assert row.success.low < row.success.high
        assert row.paper == study.PAPER[row.rule][row.density]
    assert made.rows[0].cost_difference.mean == 0
    assert made.rows[0].parameters["score"] == "gap+drift"


def test_the_record_is_plain_data(small):
    made, _ = small
    back = json.loads(json.dumps(made.record()))
    assert back["rows"][0]["rule"] == "regret-guided" and back["kappa"] == 11
    assert back["validation_layouts"][0] >= FIRST_VALIDATION_LAYOUT


def test_the_table_shows_ours_and_the_papers(small):
    none, dense = table_3(small[0])
    assert "no obstacles" in none.title and "dense" in dense.title
    assert none.rows[0][:2] == ("regret-guided", "map") and none.rows[0][3] == "0.93"
    assert "cannot be told from 0" in none.notes[1]
    assert "| front-loaded | map |" in dense.markdown()


def test_the_figure_has_a_panel_for_each_density(small, tmp_path):
    figure = flight_figure(small[0].tracks, path=tmp_path / "flights.png")
    assert [axes.get_title() for axes in figure.axes] == ["none, layout 1", "dense, layout 1"]
    assert [len(axes.get_legend_handles_labels()[1]) for axes in figure.axes] == [2, 2]
    assert (tmp_path / "flights.png").stat().st_size > 10_000


def test_the_papers_table_is_complete():
    assert len(study.PAPER) == 9 and set(study.METHODS) == {*study.PAPER, "lookahead"}
    assert all(tuple(rows) == DENSITIES for rows in study.PAPER.values())
    assert study.PAPER["back-loaded"]["dense"] == (0.40, 1.33, 3.35)


def test_thresholds_are_chosen_on_validation_layouts_alone(monkeypatch):
    monkeypatch.setattr(study, "VALIDATION_LAYOUTS", 1)
    seen = []
    monkeypatch.setattr(study, "layout", lambda density, k: seen.append(k) or layout(density, k))
    (chosen,) = study.choose_rules(["best-offset"], "sparse")
    assert seen == [FIRST_VALIDATION_LAYOUT]
    number = FIRST_VALIDATION_LAYOUT
    mission = crazyflie_mission(layout("sparse", number), wind("sparse", number))
    regrets = [
        regret(mission, FixedTimes(rule.times(60, 6))) for rule in study.candidates("best-offset", mission)
    ]
    assert regret(mission, FixedTimes(chosen.times(60, 6))) == pytest.approx(min(regrets))


class Teleport:
    """A `Flight` that is always where it is told to be."""

    drones = 1

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

    job = Job("dense", 3, Periodic())
    mission = crazyflie_mission(layout("dense", 3), wind("dense", 3, strength=0.0))
    flown = fly(Teleport(), [Agent.on(mission, job.rule)])
    write_flight_log(tmp_path / "flight.mcap", flown, layout("dense", 3))
    with (tmp_path / "flight.mcap").open("rb") as file:
        messages = [
            (schema.name, channel.topic, json.loads(message.data))
            for schema, channel, message in make_reader(file).iter_messages()
        ]
    poses = [m["pose"]["position"] for _, topic, m in messages if topic == "/drone/pose"]
    setpoints = [m for _, topic, m in messages if topic == "/drone/setpoint"]
    assert (len(poses), len(setpoints)) == (61, 60)  # nothing was told before the first move
    assert poses[-1]["x"] == pytest.approx(flown.log.positions[-1, 0, 0])
    updates = [m for _, topic, m in messages if topic == "/updates"]
    assert [m["step"] for m in updates] == list(track(job, flown).update_times) == [1, 13, 24, 36, 47, 59]
    assert all(m["reason"] for m in updates)
    (scene,) = [m for name, _, m in messages if name == "foxglove.SceneUpdate"]
    assert len(scene["entities"][0]["cylinders"]) == 29
