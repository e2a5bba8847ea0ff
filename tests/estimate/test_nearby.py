"""Rows within reach of the sensors follow the truth; the others stay as they were last seen."""

import numpy as np
import pytest
from tests.learning import learning
from tests.tiny_worlds import random_world

from replan import InputError, load_setting
from replan.estimate.estimator import Nearby, Observation


def test_rows_around_the_robot_follow_the_truth_and_others_stay():
    world = load_setting("thin-ice-medium").build()
    columns = world.grid[1]
    seen, last = learning(Nearby, world, 2), np.zeros(world.states, dtype=int)
    for t, state in ((6, world.start), (9, 3 * columns + 4), (12, world.states - 1)):
        kernel = seen.estimate(Observation(t, state)).general().dense()
        place = np.stack(np.divmod(np.arange(world.states), columns))
        near = abs(place - np.array(divmod(state, columns))[:, None]).max(axis=0) <= 2
        last[near] = t - 1
        expected = np.stack([world.kernel(int(u)).general().dense()[s] for s, u in enumerate(last)])
        assert np.array_equal(kernel, expected)


def test_with_a_radius_of_the_whole_map_it_is_the_tracked_kernel():
    world = load_setting("terrain-medium").build()
    seen = learning(Nearby, world, max(world.grid))
    for t in (1, 7, 15):
        found = seen.estimate(Observation(t, world.start)).general().dense()
        assert np.array_equal(found, world.kernel(t - 1).general().dense())


def test_off_a_grid_the_radius_counts_steps():
    world = random_world(np.random.default_rng(1), states=6, horizon=5)
    found = learning(Nearby, world, 0).estimate(Observation(4, 2)).general().dense()
    expected = world.kernel(0).general().dense().copy()
    expected[2] = world.kernel(3).general().dense()[2]
    assert np.allclose(found, expected)


def test_where_nothing_changes_the_kernel_stays_the_same_object():
    world = load_setting("thin-ice-medium").build()
    still = [t for t in range(1, world.horizon - 1) if world.kernel(t) is world.kernel(t - 1)]
    assert still
    seen = learning(Nearby, world, 1)
    before = seen.estimate(Observation(still[0], world.start))
    assert seen.estimate(Observation(still[0] + 1, world.start)) is before


def test_a_radius_is_a_whole_number():
    with pytest.raises(InputError, match="radius must be"):
        Nearby(load_setting("thin-ice-medium").build(), -1)
