"""Displacements on cells keep their mean and have the stated variance, and nothing enters land."""

import numpy as np
import pytest

from replan import InputError
from replan.worlds.flow_grid import FlowGrid, goal_distance, heading_velocities

ROWS, COLUMNS = 15, 17
MIDDLE = 7 * COLUMNS + 8
WATER = np.zeros(ROWS * COLUMNS, dtype=bool)


def moments(kernel, state=MIDDLE):
    """(A, 2) mean displacement of each action, and (A, 2) variance, in cells."""
    dense = kernel.dense()[state]
    row, column = np.divmod(np.arange(kernel.states), COLUMNS)
    away = np.stack([row - state // COLUMNS, column - state % COLUMNS], axis=1)
    mean = dense @ away
    return mean, dense @ away**2 - mean**2


@pytest.mark.parametrize("noise", [0.0, 0.3, 0.8, 1.3])
def test_the_mean_is_kept_and_splitting_adds_its_variance(noise):
    moves = np.random.default_rng(0).uniform(-2, 2, (1, 6, 2))
    kernel = FlowGrid((ROWS, COLUMNS), WATER).kernel(moves, np.full((1, 2), noise**2))
    fraction = moves[0] % 1
    mean, variance = moments(kernel)
    assert mean == pytest.approx(moves[0], abs=1e-12)
    assert variance == pytest.approx(noise**2 + fraction * (1 - fraction), abs=1e-12)
    assert kernel.drift == pytest.approx(np.tile(moves[0, -1], (ROWS * COLUMNS, 1)))


def test_displacements_and_noise_may_differ_from_cell_to_cell():
    rng = np.random.default_rng(1)
    moves, variance = rng.uniform(-2, 2, (ROWS * COLUMNS, 3, 2)), rng.uniform(0, 0.6, (ROWS * COLUMNS, 2))
    kernel = FlowGrid((ROWS, COLUMNS), WATER).kernel(moves, variance)
    for state in (MIDDLE, MIDDLE + 1, MIDDLE - COLUMNS):
        mean, spread = moments(kernel, state)
        fraction = moves[state] % 1
        assert mean == pytest.approx(moves[state], abs=1e-12)
        assert spread == pytest.approx(variance[state] + fraction * (1 - fraction), abs=1e-12)


def test_land_is_never_entered_nor_crossed_and_the_edge_stops_the_vehicle():
    land = WATER.copy().reshape(ROWS, COLUMNS)
    land[:, 10] = True  # a wall from north to south
    moves = np.array([[[0.0, 2.6], [-1.4, 3.0], [-9.0, 0.0], [0.0, 0.0]]])
    kernel = FlowGrid((ROWS, COLUMNS), land.reshape(-1)).kernel(moves, np.full((1, 2), 0.3))
    dense = kernel.dense()
    west = np.flatnonzero(np.arange(ROWS * COLUMNS) % COLUMNS < 10)
    assert dense[west][:, :, west].sum(axis=2) == pytest.approx(1.0)
    assert dense[~land.reshape(-1)][:, :, land.reshape(-1)].max() == 0
    assert dense[MIDDLE, 2, :COLUMNS].sum() > 0.99  # carried to the northern edge
    assert dense.sum(axis=2) == pytest.approx(1.0)


def test_headings_go_clockwise_from_north_and_the_last_action_drifts():
    root = 2**0.5
    assert heading_velocities(8, 2.0)[[0, 1, 2, 4, 6, 8]] == pytest.approx(
        np.array([[0, 2], [root, root], [2, 0], [0, -2], [-2, 0], [0, 0]]), abs=1e-12
    )


def test_distances_are_straight():
    assert goal_distance((4, 5), 19)[0] == pytest.approx(5.0)


def test_a_step_over_half_the_map_is_refused():
    with pytest.raises(InputError, match="larger cells or shorter steps"):
        FlowGrid((ROWS, COLUMNS), WATER).kernel(np.full((1, 1, 2), 70.0), np.zeros((1, 2)))
