"""Drift bounds found online hold with their confidence; the wrong ones are wrong in the stated way."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.learning import learning

from replan.errors import InputError
from replan.estimate.drift_bounded_mle import DriftBoundedMLE
from replan.estimate.drift_bounds import (
    MISSPECIFICATIONS,
    OnlineDriftBounds,
    WithOnlineBounds,
    shifted,
    too_large,
    too_small,
)
from replan.estimate.estimator import Observation
from replan.estimate.slip_evidence import ParameterEstimate
from replan.model.slip import SlipKernel

GROUND = SlipKernel((12, 12), 0.05)
ONLINE_GROUND = SlipKernel((6, 6), 0.05)


def fly(rng, slips, updates):
    destinations, states, actions, seen, last = GROUND.destinations(), [0], [], [], 0
    for t, slip in enumerate(slips):
        actions.append(int(rng.choice([0, 2])))
        move = actions[-1] if rng.random() >= slip else int(rng.integers(5))
        states.append(int(destinations[states[-1], move]))
        if t + 1 in updates:
            seen.append(Observation(t + 1, states[-1], states[-2], actions[-1], tuple(actions[last:])))
            last = t + 1
    return seen


def test_bounds_hold_all_at_once_with_their_confidence():
    slips = np.linspace(0.05, 0.45, 50)  # 0.8 times this is the drift of kernel entries
    rng = np.random.default_rng(0)
    held = []
    for _ in range(200):
        online = OnlineDriftBounds(GROUND, 50)
        for observation in fly(rng, slips, (1, 10, 20, 30, 40, 48)):
            bounds = online.observe(observation)
        assert bounds.shape == (49,)
        held.append((bounds >= 0.8 * np.abs(np.diff(slips)) - 1e-12).all())
    assert np.mean(held) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 200)


def test_bounds_say_something():
    online = OnlineDriftBounds(GROUND, 50)
    for observation in fly(np.random.default_rng(1), np.full(50, 0.1), (1, 16, 31, 46)):
        bounds = online.observe(observation)
    assert bounds.max() < 0.1


def test_nothing_is_promised_before_two_intervals():
    online = OnlineDriftBounds(GROUND, 50, initial=0.3)
    for observation in fly(np.random.default_rng(2), np.full(50, 0.1), (1, 16)):
        assert (online.observe(observation) == 0.3).all()


def test_missing_actions_are_refused():
    online = OnlineDriftBounds(GROUND, 50)
    online.observe(Observation(1, 1, 0, 0, (0,)))
    with pytest.raises(InputError, match="t=5: 1 commanded actions for 4 steps"):
        online.observe(Observation(5, 1, 1, 0, (0,)))


def test_a_robot_that_was_carried_away_goes_on_learning(caplog):
    seen = fly(np.random.default_rng(1), np.full(90, 0.1), range(15, 91, 15))
    online, never_moved = OnlineDriftBounds(GROUND, 100), OnlineDriftBounds(GROUND, 100)
    for observation in seen[:3]:
        bounds = online.observe(observation)
    carried = Observation(46, 0, None, None, (0,))  # from near the far corner to the start in one step
    assert np.array_equal(online.observe(carried), bounds)
    assert "no slip leads" in caplog.text
    for observation in fly(np.random.default_rng(2), np.full(45, 0.1), range(15, 46, 15)):
        bounds = online.observe(replace(observation, time=observation.time + 46))
    assert len(online.averages) == 5 and bounds.max() < 0.1
    for observation in seen:
        never_moved.observe(observation)
    assert bounds.max() <= 2 * never_moved.bounds().max()


def test_a_state_off_the_grid_is_refused():
    online = OnlineDriftBounds(GROUND, 50)
    online.observe(Observation(1, 1, 0, 0, (0,)))
    with pytest.raises(InputError, match="next=-1 is not a state"):
        online.observe(Observation(2, -1, None, None, (0,)))


def test_entries_change_by_the_merged_steepness():
    corridor = SlipKernel((1, 40), 0.1, law=[1 / 3, 1 / 3, 1 / 3, 0, 0])
    open_ground, narrow = (OnlineDriftBounds(kernel, 50) for kernel in (GROUND, corridor))
    for online, steepness in ((open_ground, 0.8), (narrow, 2 / 3)):
        online.averages = [
            ParameterEstimate("slip", 10, 0.15, 0.1, 0.2),
            ParameterEstimate("slip", 20, 0.35, 0.3, 0.4),
        ]
        online.centres = [5.0, 15.0]
        assert online.bounds()[7] == pytest.approx(steepness * 0.3 / 10)


def test_misspecified_bounds():
    bounds = np.array([0.0] * 20 + [0.4] * 5 + [0.0] * 24)
    assert too_small(bounds) == pytest.approx(bounds / 4)
    assert too_large(bounds).max() == 1.0
    assert np.flatnonzero(shifted(bounds)).tolist() == [30, 31, 32, 33, 34]
    for wrong in MISSPECIFICATIONS.values():
        assert wrong(bounds).shape == bounds.shape


def updates(seed):
    rng, destinations, states, actions, last = (
        np.random.default_rng(seed),
        ONLINE_GROUND.destinations(),
        [0],
        [],
        0,
    )
    for t in range(40):
        actions.append(int(rng.choice([0, 2] if t % 9 else [1, 3])))
        move = actions[-1] if rng.random() >= 0.2 else int(rng.integers(5))
        states.append(int(destinations[states[-1], move]))
        if t % 5 == 4:
            before = states[-2] if t % 2 else None
            yield Observation(t + 1, states[-1], before, actions[-1], tuple(actions[last:]))
            last = t + 1


def online():
    bounds = partial(OnlineDriftBounds, ONLINE_GROUND, 50)
    return learning(WithOnlineBounds, partial(DriftBoundedMLE, ONLINE_GROUND), bounds)


def test_the_estimate_is_that_of_an_estimator_told_the_bounds_found_so_far():
    estimator, bounds, seen = online(), OnlineDriftBounds(ONLINE_GROUND, 50), []
    for observation in updates(0):
        kernel = estimator.estimate(observation)
        seen.append(observation)
        told = learning(DriftBoundedMLE, ONLINE_GROUND, bounds.observe(observation))
        for each in seen:
            expected = told.estimate(each)
        assert kernel.general().dense() == pytest.approx(expected.general().dense())
