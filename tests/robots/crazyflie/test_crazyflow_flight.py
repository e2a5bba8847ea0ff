"""Flights in simulated physics. One size of batch for all tests, so that JAX compiles it once."""

import numpy as np
import pytest

from replan.errors import InputError
from replan.execute.agent import Agent
from replan.robots.crazyflie.crazyflow_flight import CrazyflowFlight
from replan.robots.crazyflie.flight import fly, outcome
from replan.robots.crazyflie.layouts import (
    CELL_SIZE,
    cells_at,
    centres,
    constant_wind,
    layout,
    make_wind,
    state_of,
)
from replan.robots.crazyflie.physics import Physics
from replan.robots.crazyflie.world import crazyflie_mission, load_calibration
from replan.schedule.fixed import FixedTimes

BATCH = 8  # as in tests/report/test_flight_table.py
DRONES = 6
RIGHT, LEFT, DOWN, UP, STAY = range(5)


@pytest.fixture(scope="module")
def physics():
    made = Physics(BATCH)
    yield made
    made.close()


def in_winds(physics, forces, **options) -> CrazyflowFlight:
    gentle = [constant_wind(np.array(force), horizon=10, gust=0.0) for force in forces]
    flight = CrazyflowFlight(physics, gentle, **options)
    flight.take_off()
    return flight


def test_without_wind_a_blind_drone_goes_where_it_is_told(physics):
    flight = in_winds(physics, [(0.0, 0.0)] * 2)
    for actions in [(RIGHT, DOWN), (RIGHT, DOWN), (DOWN, STAY), (LEFT, RIGHT)]:
        flight.move(np.array(actions))
    assert flight.log().cells()[1:, 0].tolist() == [state_of(c) for c in [(0, 1), (0, 2), (1, 2), (1, 1)]]
    assert flight.log().cells()[-1, 1] == state_of((2, 1))
    assert flight.log().positions[-1, :, 2] == pytest.approx(0.47, abs=0.02)  # the firmware's mass is wrong


def test_wind_adds_the_same_to_every_blind_move(physics):
    forces = [(0.0, 0.0), (0.01, 0.0), (0.02, 0.0), (0.04, 0.0), (0.0, 0.02), (0.02, 0.02)]
    flight = in_winds(physics, forces)
    for action in (RIGHT, DOWN, RIGHT, DOWN):
        flight.move(np.full(DRONES, action))
    where = flight.localise(range(DRONES))
    carried = (where - where[0]) / 4  # m for each move
    assert carried == pytest.approx(np.array(forces) / 0.44, abs=0.004)


def test_an_update_aims_at_the_middle_of_the_next_cell(physics):
    flight = in_winds(physics, [(0.04, 0.04), (0.04, 0.04)])
    for _ in range(2):
        flight.move(np.array([RIGHT, RIGHT]))
    seen = flight.localise([0])[0]
    flight.move(np.array([RIGHT, RIGHT]))
    aimed, blind = flight.log().setpoints[-1, :, :2]
    assert aimed - centres(cells_at(seen)) == pytest.approx([CELL_SIZE, 0])
    assert blind - [CELL_SIZE, 0] == pytest.approx(seen, abs=1e-3)


def test_walls_hold_the_setpoint(physics):
    flight = in_winds(physics, [(-0.05, -0.05)])
    for _ in range(4):
        flight.move(np.array([LEFT]))
    assert flight.log().setpoints[-1, 0, :2] == pytest.approx(CELL_SIZE / 2)
    assert flight.log().cells()[-1, 0] == 0


def test_the_calibration_table_is_what_flights_show(physics):
    force = 0.04
    still = centres(state_of((5, 2)))
    starts = still + (np.linspace(0, 1, DRONES, endpoint=False)[:, None] - 0.5) * [CELL_SIZE, 0]
    flight = in_winds(physics, [(force, 0.0)] * DRONES, start=starts)
    moves = 9
    for action in (RIGHT, LEFT, STAY) * 3:
        flight.move(np.full(DRONES, action))
    cells = flight.log().cells() % 12
    rate = (cells[-1] - cells[0]).mean() / moves
    assert rate == pytest.approx(load_calibration().drift(force)[2], abs=0.03)


def test_a_mission_is_flown_and_is_the_same_again(physics):
    field, air = layout("sparse", 0), make_wind("sparse", 0, strength=0.0, gust=0.0)
    mission = crazyflie_mission(field, air)
    logs = []
    for _ in range(2):
        agents = [Agent.on(mission, FixedTimes([1, 5, 10, 15, 20, 25])) for _ in range(2)]
        flown = fly(CrazyflowFlight(physics, [air, air]), agents)
        assert flown.aborted is None
        logs.append(flown.log.positions)
        made = outcome(field, flown.log, 1)
        assert made.success and made.collisions == 0
        assert [t for t, _ in flown.updates(1)] == [1, 5, 10, 15, 20, 25]
    assert (logs[0] == logs[1]).all()


def test_more_winds_than_drones_are_refused(physics):
    with pytest.raises(InputError, match="do not fit"):
        in_winds(physics, [(0.0, 0.0)] * (BATCH + 1))


def test_a_simulator_that_dies_ends_in_a_clear_error():
    gone = Physics(1)
    gone._process.kill()
    with pytest.raises(RuntimeError, match="the flight simulator ended"):
        gone.place(np.zeros((1, 3)))
    gone.close()
