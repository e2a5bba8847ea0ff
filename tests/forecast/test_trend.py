"""A forecast moves an estimate on in the direction last seen, by no more than the drift bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.forecast import Evidence, Trend
from replan.forecast.trend import towards_chance
from replan.model import GeneralKernel, SlipKernel
from tiny_worlds import random_kernel

BOUNDS = np.array([0.5, 0.01, 0.02, 0.03])


def growing(kernel, bounds, *, since, earlier=None, earlier_since=0):
    """t -> the kernel that a robot expects that knows all of these bounds."""
    before = None if earlier is None else (earlier_since + 1, earlier)
    (future,) = Trend().futures(Evidence(since + 1, len(bounds) + 1, kernel, kernel, bounds, before))
    return future.kernel


def test_with_one_estimate_the_largest_entry_moves_by_the_bound():
    for kernel in (SlipKernel((5, 5), 0.1), random_kernel(np.random.default_rng(1), 4, 2)):
        grown = growing(kernel, BOUNDS, since=1)
        assert grown(0) is grown(1) is kernel
        assert kernel.entrywise_distance(grown(2)).max() == pytest.approx(0.01)
        assert kernel.entrywise_distance(grown(4)).max() == pytest.approx(0.06)
        np.testing.assert_allclose(grown(4).general().probabilities.sum(axis=2), 1)


def test_with_one_estimate_growth_ends_at_pure_chance():
    general = random_kernel(np.random.default_rng(1), 4, 2)
    far = growing(general, np.full(9, 0.5), since=0)(9).general()
    possible = (general.probabilities > 0).any(axis=1, keepdims=True)
    np.testing.assert_allclose(
        far.probabilities, np.repeat(possible / possible.sum(axis=2, keepdims=True), 2, axis=1)
    )
    assert growing(SlipKernel((3, 3), 0.5), np.full(9, 0.5), since=0)(9).slip.max() == 1.0  # pyright: ignore


@pytest.mark.parametrize("rate", [0.02, -0.02])
def test_a_world_that_drifts_steadily_is_forecast_exactly(rate):
    def kernel(t):
        return SlipKernel((5, 5), 0.4 + rate * t)

    bounds = np.full(12, kernel(1).entrywise_distance(kernel(0)).max())
    for earlier, now in ((kernel(1), kernel(5)), (kernel(1).general(), kernel(5).general())):
        grown = growing(now, bounds, since=5, earlier=earlier, earlier_since=1)
        assert type(grown(9)) is type(now)
        assert grown(9).entrywise_distance(kernel(9)).max() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("before", "now"), [(0.1, 0.2), (0.3, 0.2), (0.1, 0.7), (0.9, 0.3)])
def test_a_direction_can_be_followed_as_far_as_it_was_seen_and_no_further(before, now):
    earlier, kernel = SlipKernel((2, 2), before), SlipKernel((2, 2), now)
    far = growing(kernel, np.full(9, 0.2), since=2, earlier=earlier)(9)
    np.testing.assert_allclose(far.slip, np.clip(2 * now - before, 0, 1))  # pyright: ignore


def test_what_stood_still_stands_still():
    slip = np.array([0.1, 0.1, 0.3, 0.1])
    grown = growing(SlipKernel((2, 2), slip), np.full(9, 0.08), since=2, earlier=SlipKernel((2, 2), 0.1))
    np.testing.assert_allclose(grown(4).slip, [0.1, 0.1, 0.5, 0.1])  # pyright: ignore
    still = growing(SlipKernel((2, 2), slip), np.full(9, 0.08), since=2, earlier=SlipKernel((2, 2), slip))
    np.testing.assert_allclose(still(9).slip, slip)  # pyright: ignore


def test_drift_at_half_its_bound_goes_on_at_half_its_bound():
    earlier, now = SlipKernel((3, 3), 0.10), SlipKernel((3, 3), 0.14)  # the bounds allow 0.08 in between
    bounds = np.full(9, 0.8 * 0.04)
    grown = growing(now, bounds, since=3, earlier=earlier, earlier_since=1)
    np.testing.assert_allclose(grown(4).slip, [0.16])  # pyright: ignore


def test_a_wind_that_turns_goes_on_turning():
    def wind(east):
        return SlipKernel((3, 3), 0.5, law=[east, 0, 1 - east, 0, 0])

    grown = growing(wind(0.5), np.full(9, 0.05), since=4, earlier=wind(0.9), earlier_since=0)
    assert grown(6).entrywise_distance(wind(0.3)).max() == pytest.approx(0.0, abs=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_every_forecast_is_a_kernel_within_the_bounds(seed):
    rng = np.random.default_rng(seed)
    earlier, now = (random_kernel(rng, 4, 2) for _ in range(2))
    bounds = rng.uniform(0, 0.2, size=8)
    grown = growing(now, bounds, since=3, earlier=earlier, earlier_since=1)
    for t in range(3, 10):
        forecast = grown(t).general()
        assert isinstance(forecast, GeneralKernel)
        assert forecast.probabilities.min() >= 0
        np.testing.assert_allclose(forecast.probabilities.sum(axis=2), 1)
        assert now.entrywise_distance(forecast).max() <= bounds[3:t].sum() + 1e-12


@pytest.mark.parametrize("law", [None, (0.0, 1.0, 0.0, 0.0, 0.0), (0.5, 0.5, 0.0, 0.0, 0.0)])
def test_towards_chance_an_entry_changes_by_as_much_as_the_bounds_allow(law):
    """In a corridor several moves lead to one cell, and their probabilities add up."""
    kernel = SlipKernel((1, 4), 0.1, law=law)
    moved = towards_chance(kernel)(0.05)
    assert kernel.entrywise_distance(moved).max() == pytest.approx(0.05)


def test_the_bound_of_the_last_step_seen_is_held():
    kernel = SlipKernel((3, 3), 0.1)
    (future,) = Trend().futures(Evidence(3, 10, kernel, kernel, np.array([0.5, 0.03, 0.01])))
    moved = [kernel.entrywise_distance(future.kernel(t)).max() for t in (3, 4, 5)]
    np.testing.assert_allclose(moved, [0.01, 0.02, 0.03])
