"""Learned estimates: the promise holds with the probability that it states."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pytest
from tests.certify.drifting_worlds import drifting_kernels

from replan.certify import Estimate, Transitions, certify, learned_estimate
from replan.errors import InputError
from replan.evaluate import regret
from replan.execute import Mission
from replan.model import TVMDP, GeneralKernel, Reward, constant
from replan.schedule import FixedTimes

HORIZON, TIMES, SAMPLES = 8, (1, 4), 40
UNIFORM = GeneralKernel.from_dense(np.full((2, 2, 2), 0.5))


@dataclass(frozen=True)
class ByTime:
    """An estimator whose estimates were made beforehand."""

    estimates: dict[int, Estimate]

    def estimate(self, observation):
        return self.estimates[max(observation.time - 1, 0)].kernel


@dataclass(frozen=True)
class LearnedMission(Mission):
    learned: dict[int, Estimate] = field(default_factory=dict)

    @cached_property
    def estimator(self):
        return ByTime(self.learned)


def world_of(generator, drift=0.02):
    eps = np.full(HORIZON - 1, drift)
    kernels = [
        GeneralKernel.from_dense(k) for k in drifting_kernels(generator, HORIZON, 2, 2, eps, "any way")
    ]
    reward = Reward(state_action=generator.normal(size=(2, 2)))
    return TVMDP(HORIZON, lambda t: kernels[t], constant(reward), stated_bounds=eps)


def observed(world, generator):
    """The same number of transitions of every pair at every time."""
    t, s, a, _ = (part.ravel() for part in np.indices((HORIZON, 2, 2, SAMPLES)))
    ahead = np.array([world.kernel(u).dense()[i, b, 1] for u, i, b in zip(t, s, a, strict=True)])
    return Transitions(t, s, a, (generator.random(t.size) < ahead).astype(np.int64))


def learned_from(world, generator, delta):
    """The estimates of P_0 and of the second update, each with half of delta."""
    log = observed(world, generator)
    return [
        learned_estimate(
            log.before(time + 1),
            UNIFORM,
            time=time,
            drift_bounds=world.drift_bounds,
            delta=delta / 2,
            most=HORIZON * SAMPLES,
        )
        for time in (0, TIMES[1] - 1)
    ]


def test_the_promise_is_broken_no_more_often_than_delta():
    delta, trials = 0.3, 120
    broken = outside = 0
    for seed in range(trials):
        generator = np.random.default_rng(seed)
        world = world_of(generator)
        estimates = learned_from(world, generator, delta)
        mission = LearnedMission(world, len(TIMES), 3, learned={e.time: e for e in estimates})
        found = certify(mission, TIMES, estimates=estimates, delta=delta)
        assert (found.estimates, found.probability) == ("learned", 1 - delta)
        broken += regret(mission, FixedTimes(TIMES)) > found.value + 1e-9
        outside += any(
            (world.kernel(e.time).entrywise_distance(e.kernel) > e.radius).any() for e in estimates
        )
    assert broken <= delta * trials
    assert outside <= delta * trials


def test_more_observations_promise_more():
    generator = np.random.default_rng(7)
    world = world_of(generator, drift=0.001)
    estimates = learned_from(world, generator, 0.1)
    mission = LearnedMission(world, len(TIMES), 3, learned={e.time: e for e in estimates})
    unknown = [Estimate(e.time, e.kernel, np.ones((2, 2))) for e in estimates]
    told = certify(mission, TIMES, estimates=estimates, delta=0.1).value
    assert told < 0.75 * certify(mission, TIMES, estimates=unknown, delta=0.1).value


def test_a_pair_never_seen_has_radius_one_and_the_nominal_kernel():
    none = np.zeros(0, dtype=np.int64)
    once = Transitions(np.array([0]), np.array([1]), np.array([0]), np.array([1]))
    options = {"time": 0, "drift_bounds": np.zeros(3), "delta": 0.1, "most": 5}
    empty = learned_estimate(Transitions(none, none, none, none), UNIFORM, **options)
    assert (empty.radius == 1).all()
    assert empty.kernel.dense() == pytest.approx(UNIFORM.dense())
    told = learned_estimate(once, UNIFORM, **options)
    assert told.kernel.dense()[1, 0] == pytest.approx([0, 1])
    assert told.kernel.dense()[0, 0] == pytest.approx([0.5, 0.5])


def test_drift_since_the_observation_widens_the_radius():
    many = Transitions(*np.zeros((4, 400), dtype=np.int64))
    options = {"delta": 0.1, "most": 400}
    still = learned_estimate(many, UNIFORM, time=0, drift_bounds=np.full(3, 0.1), **options)
    later = learned_estimate(many, UNIFORM, time=2, drift_bounds=np.full(3, 0.1), **options)
    assert later.radius[0, 0] - still.radius[0, 0] == pytest.approx(0.2)


def test_more_observations_than_declared_are_refused():
    many = Transitions(*np.zeros((4, 3), dtype=np.int64))
    with pytest.raises(InputError, match="more than the 2"):
        learned_estimate(many, UNIFORM, time=0, drift_bounds=np.zeros(3), delta=0.1, most=2)
