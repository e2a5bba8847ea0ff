"""One law of moves for each action, learned from anywhere, used everywhere."""

import numpy as np
import pytest

from replan.estimate import Observation, PooledLaw
from replan.model import SlipKernel

GROUND = SlipKernel((6, 6), 0.1)


def test_moves_seen_in_one_place_are_expected_in_another():
    law = PooledLaw(GROUND, 0.0)
    for t in range(10):
        kernel = law.estimate(Observation(t + 1, 13 if t % 2 else 20, 14, 1, (1,)))  # left, or blown down
    row = kernel.dense()[21, 1]
    assert row[[20, 27]] == pytest.approx([0.5, 0.5])
    corner = kernel.dense()[0, 1]  # left of the corner is the corner itself
    assert corner[[0, 6]] == pytest.approx([0.5, 0.5])


def test_unseen_actions_and_unclear_moves_leave_the_nominal_law():
    law = PooledLaw(GROUND, 0.0)
    kernel = law.estimate(Observation(1, 0, 0, 3, (3,)))  # up in the corner: stayed, but by which move?
    assert kernel.entrywise_distance(GROUND).max() < 1e-12


def test_save_and_restore():
    one, two = PooledLaw(GROUND, 0.05), PooledLaw(GROUND, 0.05)
    one.estimate(Observation(1, 15, 14, 0, (0,)))
    two.restore(one.save())
    last = Observation(6, 13, 14, 0, (0,))
    assert np.array_equal(one.estimate(last).probabilities, two.estimate(last).probabilities)
