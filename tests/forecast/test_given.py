"""A given future is expected as it is, or wrong in exactly the way that was asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.errors import InputError
from replan.forecast.base import Evidence
from replan.forecast.given import ForecastFault, Given
from replan.model.slip import SlipKernel
from tiny_worlds import random_kernel


def foretold(kernels, update, **fault):
    forecast = Given(kernels, ForecastFault(**fault))
    evidence = Evidence(update, len(kernels), kernels[max(update - 1, 0)], kernels[0], np.zeros(update))
    (future,) = forecast.futures(evidence)
    return [future.kernel(t).general().dense() for t in range(update, len(kernels))]


@given(st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_a_right_forecast_is_the_future(seed, update):
    rng = np.random.default_rng(seed)
    kernels = [random_kernel(rng, 3, 2) for _ in range(8)]
    np.testing.assert_array_equal(foretold(kernels, update), [k.dense() for k in kernels[update:]])


@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.sampled_from([-0.6, -0.1, 0.3, 1.0]))
def test_an_error_scales_the_change_since_the_update(seed, update, error):
    rng = np.random.default_rng(seed)
    kernels = [random_kernel(rng, 3, 2) for _ in range(8)]
    now = kernels[max(update - 1, 0)].dense()
    for t, row in enumerate(foretold(kernels, update, error=error), update):
        scaled = np.maximum(now + (1 + error) * (kernels[t].dense() - now), 0)
        np.testing.assert_allclose(row, scaled / scaled.sum(axis=2, keepdims=True), atol=1e-12)


def test_an_ensemble_is_several_futures_of_equal_weight_and_its_course_is_their_mean():
    rng = np.random.default_rng(3)
    courses = [[random_kernel(rng, 3, 2) for _ in range(4)] for _ in range(3)]
    forecast = Given(courses[0], members=tuple(courses[1:]))
    evidence = Evidence(1, 4, courses[0][0], courses[0][0], np.zeros(1))
    futures = forecast.futures(evidence)
    assert [future.weight for future in futures] == pytest.approx([1 / 3] * 3)
    assert Given(courses[0]).reveals and not forecast.reveals
    for t in range(1, 4):
        dense = [each[t].dense() for each in courses]
        for future, expected in zip(futures, dense, strict=True):
            np.testing.assert_array_equal(future.kernel(t).general().dense(), expected)
        np.testing.assert_allclose(
            forecast.course(evidence)(t).general().dense(), np.mean(dense, axis=0), atol=1e-12
        )
    with pytest.raises(InputError, match="at least one kernel"):
        Given(courses[0], members=([],))


def test_slip_is_scaled_as_its_entries_are():
    kernels = [SlipKernel((3, 3), slip) for slip in (0.1, 0.2, 0.5, 0.9)]
    for t, row in enumerate(foretold(kernels, 1, error=0.6), 1):
        scaled = np.maximum(1.6 * kernels[t].general().dense() - 0.6 * kernels[0].general().dense(), 0)
        np.testing.assert_allclose(row, scaled / scaled.sum(axis=2, keepdims=True), atol=1e-12)


@pytest.mark.parametrize(
    ("update", "expected"), [(1, [0, 0, 0, 1, 2]), (3, [2, 2, 2]), (0, [0, 0, 0, 0, 1, 2])]
)
def test_a_late_forecast_begins_with_the_estimate(update, expected):
    kernels = [SlipKernel((2, 2), 0.1 * t) for t in range(6)]
    found = foretold(kernels, update, late=3)
    np.testing.assert_array_equal(found, [kernels[t].general().dense() for t in expected])


def test_noise_is_drawn_by_seed_and_time():
    kernels = [random_kernel(np.random.default_rng(t), 3, 2, sparse=False) for t in range(5)]
    once, again = (foretold(kernels, 1, noise=0.3, seed=4) for _ in range(2))
    later, other = foretold(kernels, 2, noise=0.3, seed=4), foretold(kernels, 1, noise=0.3, seed=5)
    np.testing.assert_array_equal(once, again)
    np.testing.assert_array_equal(once[1:], later)
    assert (np.abs(np.array(once) - other) > 0).all()
    np.testing.assert_allclose(np.sum(once, axis=3), 1)


def test_the_last_of_given_kernels_is_kept():
    kernels = [SlipKernel((2, 2), 0.1), SlipKernel((2, 2), 0.2)]
    (future,) = Given(kernels).futures(Evidence(1, 9, kernels[0], kernels[0], np.zeros(1)))
    assert future.kernel(7) is kernels[1]


@pytest.mark.parametrize("fault", [{"late": -1}, {"error": np.inf}, {"noise": -0.1}, {"noise": np.nan}])
def test_impossible_faults_are_refused(fault):
    with pytest.raises(InputError, match="forecast"):
        ForecastFault(**fault)


def test_no_kernels_are_no_forecast():
    with pytest.raises(InputError, match="kernel"):
        Given([])
