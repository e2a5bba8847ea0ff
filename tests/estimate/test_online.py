"""An estimator with online bounds is the estimator that was told those bounds, and has seen the same."""

from functools import partial

import numpy as np
import pytest

from replan.estimate import DriftBoundedMLE, Observation, OnlineDriftBounds, WithOnlineBounds
from replan.model import SlipKernel

GROUND = SlipKernel((6, 6), 0.05)


def updates(seed):
    rng, destinations, states, actions, last = np.random.default_rng(seed), GROUND.destinations(), [0], [], 0
    for t in range(40):
        actions.append(int(rng.choice([0, 2] if t % 9 else [1, 3])))
        move = actions[-1] if rng.random() >= 0.2 else int(rng.integers(5))
        states.append(int(destinations[states[-1], move]))
        if t % 5 == 4:
            before = states[-2] if t % 2 else None
            yield Observation(t + 1, states[-1], before, actions[-1], tuple(actions[last:]))
            last = t + 1


def online():
    return WithOnlineBounds(partial(DriftBoundedMLE, GROUND), OnlineDriftBounds(GROUND, 50))


def test_the_estimate_is_that_of_an_estimator_told_the_bounds_found_so_far():
    estimator, bounds, seen = online(), OnlineDriftBounds(GROUND, 50), []
    for observation in updates(0):
        kernel = estimator.estimate(observation)
        seen.append(observation)
        told = DriftBoundedMLE(GROUND, bounds.observe(observation))
        for each in seen:
            expected = told.estimate(each)
        assert kernel.general().dense() == pytest.approx(expected.general().dense())


def test_save_and_restore_go_on_alike():
    one, two = online(), online()
    for k, observation in enumerate(updates(1)):
        expected = one.estimate(observation)
        if k < 4:
            two.restore(one.save())
        else:
            assert np.array_equal(two.estimate(observation).probabilities, expected.probabilities)
