import numpy as np
import pytest

from replan.robots.crazyflie.flight import FlightLog, outcome
from replan.robots.crazyflie.layouts import CELL_SIZE, GRID, Layout, centres, layout, state_of

OPEN = layout("none", 0)
ONE_POLE = Layout("sparse", 0, ((0, 5),))
ACROSS = [(0, j) for j in range(GRID)] + [(i, GRID - 1) for i in range(1, GRID)]


def along(points, samples: int = 6) -> FlightLog:
    """A log of straight moves between (x, y) points."""
    points = np.asarray(points, dtype=float)
    weights = np.arange(1, samples + 1)[:, None] / samples
    legs = [points[k] + weights * (points[k + 1] - points[k]) for k in range(len(points) - 1)]
    path = np.concatenate([points[:1], *legs])
    moves = np.concatenate([[-1], np.repeat(np.arange(len(legs)), samples)])
    flat = np.column_stack([path, np.full(len(path), 0.5)])[:, None, :]
    return FlightLog(np.arange(len(path)) * 0.1, moves, flat, flat)


def through(cells) -> FlightLog:
    return along(centres([state_of(cell) for cell in cells]))


def test_the_shortest_way_costs_one():
    made = outcome(OPEN, through(ACROSS))
    assert (made.success, made.collisions, made.touched, made.moves) == (True, 0, False, 22)
    assert made.cost == pytest.approx(1.0)


def test_nothing_after_the_goal_counts():
    assert outcome(OPEN, through([*ACROSS, (11, 10), (11, 9)])).length == pytest.approx(22 * CELL_SIZE)


def test_touching_a_pole_ends_the_flight_as_a_failure():
    made = outcome(ONE_POLE, through(ACROSS))
    assert (made.success, made.collisions, made.touched) == (False, 1, True)
    assert made.length == pytest.approx(5 * CELL_SIZE - 0.12, abs=CELL_SIZE / 6)
    assert made.cost == pytest.approx((made.length + 11) / ONE_POLE.reference_length)


def test_each_entry_into_the_safety_radius_is_an_event():
    x, y = ONE_POLE.poles[0]
    beside = [(x - 0.6, y + 0.15), (x + 0.6, y + 0.15)]  # 0.15 m from the axis: inside 0.17, outside 0.12
    there_and_back = [*beside, beside[0]]
    assert outcome(ONE_POLE, along(beside, samples=60)).collisions == 1
    made = outcome(ONE_POLE, along(there_and_back, samples=60))
    assert (made.collisions, made.touched, made.success) == (2, False, False)


def test_passing_over_the_goal_within_a_move_is_not_reaching_it():
    x, y = centres(state_of((11, 11)))
    assert not outcome(OPEN, along([(x - 0.6, y), (x + 0.1, y - 0.5)])).success
