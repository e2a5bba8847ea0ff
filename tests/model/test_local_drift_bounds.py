import numpy as np
import pytest

from replan.model.array_worlds import from_arrays
from replan.model.world import local_drift_bounds


def test_each_state_and_action_has_the_largest_change_of_its_own_row():
    kernels = np.tile(np.eye(2)[:, None, :], (3, 1, 2, 1))  # three times, everything stays where it is
    kernels[1, 0, 1] = [0.75, 0.25]
    kernels[2, 0, 1] = [0.5, 0.5]
    kernels[2, 1, 0] = [0.1, 0.9]
    world = from_arrays(kernels, np.zeros(2))
    expected = np.array([[[0, 0.25], [0, 0]], [[0, 0.25], [0.1, 0]]])
    assert local_drift_bounds(world.kernel, 3) == pytest.approx(expected)


def test_their_maximum_is_the_uniform_bound():
    rng = np.random.default_rng(1)
    world = from_arrays(rng.dirichlet(np.ones(4), (6, 4, 3)), np.zeros(4))
    assert local_drift_bounds(world.kernel, 6).max(axis=(1, 2)) == pytest.approx(world.drift_bounds)
