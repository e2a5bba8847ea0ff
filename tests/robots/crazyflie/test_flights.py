"""Cells of flights: flown together, measured apart."""

import numpy as np
import pytest

from replan.errors import InputError
from replan.evaluation.agent_runs import run_agent
from replan.model.slip import STAY
from replan.robots.crazyflie import flights
from replan.robots.crazyflie.crazyflow_flight import CrazyflowFlight
from replan.robots.crazyflie.flights import FlightScene
from replan.robots.crazyflie.layouts import cells_at, centres, make_wind
from replan.robots.crazyflie.physics import Physics
from replan.schedule.periodic import Periodic
from replan.worlds.forecasts import ForecastParameters


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


def test_an_update_takes_one_number_of_moves():
    with pytest.raises(InputError, match="one number"):
        FlightScene("dense", 0, update_steps={1: 0.5, 2: 0.5})  # type: ignore[arg-type]
