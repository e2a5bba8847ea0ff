"""What is written of a flight."""

import json

import numpy as np
import pytest

from replan.execute.agent import Agent
from replan.model.slip import MOVES
from replan.robots.crazyflie.flight import FlightLog, fly
from replan.robots.crazyflie.flight_report import write_flight_log
from replan.robots.crazyflie.flights import (
    FlightScene,
    Job,
    track,
)
from replan.robots.crazyflie.layouts import (
    START,
    cells_at,
    centres,
    layout,
    make_wind,
    state_of,
)
from replan.robots.crazyflie.world import crazyflie_mission
from replan.schedule.periodic import Periodic


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
