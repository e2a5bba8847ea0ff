"""A forecast moves an estimate on in the direction last seen, by no more than the drift bounds."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.forecast.base import Evidence, mean_kernel
from replan.forecast.mixture import Mixture
from replan.forecast.trend import (
    Trend,
    held_bounds,
    lasting_bounds,
    swapped_actions,
    swinging,
    towards_chance,
)
from replan.model.family import Family
from replan.model.general_kernel import GeneralKernel
from replan.model.slip import SlipKernel
from tiny_worlds import random_kernel

BOUNDS = np.array([0.5, 0.01, 0.02, 0.03])
LASTING = st.lists(st.floats(0, 1), max_size=30)
GRID = SlipKernel((3, 3), 0.1)
SLIP = Family.of_one_slip(GRID)
SWAPPED = "actions swap"


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


@pytest.mark.parametrize(
    ("known", "horizon", "more"),
    [
        ([0.02] * 13, 40, 12),  # as long again
        ([0.02] * 3, 40, 8),  # at least a fifth of the mission
        ([0.02] * 30, 40, 9),  # no further than the mission
        ([0.02] * 4 + [0.0] * 3 + [0.02] * 11, 40, 10),  # since it rested
        ([0.06] * 4 + [0.02] * 11, 40, 10),  # since it was faster
        ([0.01, 0.02] * 6 + [0.02], 40, 12),  # a pace that wavers is one pace
        ([0.0] * 5 + [0.1], 40, 3),  # what is fast goes on until it has changed a probability by a third
        ([0.1] * 5, 40, 4),  # or for as long again
        ([0.0] * 5 + [0.4], 40, 0),  # a jump
        ([0.02], 3, 1),
    ],
)
def test_the_last_bound_is_held_for_as_long_as_it_lasts(known, horizon, more):
    rest = horizon - 1 - len(known) - more
    assert lasting_bounds(np.array(known), horizon).tolist() == known + [known[-1]] * more + [0.0] * rest


@given(LASTING, st.integers(31, 60))
def test_what_is_known_is_kept_and_drift_goes_on_at_its_last_pace_and_then_rests(known, horizon):
    found = lasting_bounds(np.array(known), horizon)
    assert found.shape == (horizon - 1,)
    ahead = found[len(known) :]
    np.testing.assert_array_equal(found[: len(known)], known)
    moves = int((ahead > 0).sum())
    assert (ahead[:moves] == (known or [0.0])[-1]).all() and not ahead[moves:].any()
    lasted = next((i for i, bound in enumerate(known[::-1]) if bound == 0.0), len(known))
    assert moves < lasted or ahead.sum() <= 0.35 + 1e-12


@given(LASTING, st.sampled_from([0.25, 0.5]))
def test_what_is_slower_does_not_rest_before(known, scale):
    fast, slow = (lasting_bounds(np.round(known, 3) * factor, 50) for factor in (1, scale))
    assert (slow[fast > 0] > 0).all()


@pytest.mark.parametrize("bounds_of", [held_bounds, lasting_bounds])
def test_before_anything_is_known_nothing_moves(bounds_of):
    assert bounds_of(np.empty(0), 10).tolist() == [0.0] * 9


@given(LASTING, st.integers(2, 60))
def test_drift_is_held_or_rests_before_and_what_is_known_is_the_same(known, horizon):
    held, lasting = (bounds_of(np.array(known), horizon) for bounds_of in (held_bounds, lasting_bounds))
    assert held.tolist() == (known + (known or [0.0])[-1:] * horizon)[: horizon - 1]
    assert ((lasting == held) | (lasting == 0.0)).all()


def course(slips, known, update=1):
    """By t, the slip that a robot expects which saw the first one and the bounds of `known` steps."""
    bounds = np.abs(np.diff(slips))[:known]
    kernel = SlipKernel((3, 3), slips[update - 1])
    evidence = Evidence(update, len(slips), kernel, kernel, bounds)

    def moved(sign):
        return lambda change: SlipKernel((3, 3), float(np.clip(slips[update - 1] + sign * change, 0, 1)))

    sign = 1 if slips[update] > slips[update - 1] else -1
    found = swinging(evidence, moved(sign), moved(-sign))
    return None if found is None else np.array([found(t).slip[0] for t in range(len(slips))])


@given(st.integers(5, 9), st.floats(0.05, 0.4), st.integers(2, 40))
def test_a_sine_is_foretold_once_it_has_turned_twice(half, amplitude, later):
    slips = 0.5 - amplitude * np.cos(np.pi * np.arange(60) / half)
    known = 2 * half + later
    np.testing.assert_allclose(course(slips, known), slips, atol=1e-9)


@given(st.lists(st.integers(2, 9), min_size=3, max_size=6), st.floats(0.05, 0.4))
def test_a_switch_between_two_values_is_followed_whenever_it_comes(dwells, size):
    levels = [0.2 + size * (i % 2) for i in range(len(dwells))]
    slips = np.repeat(levels, dwells)
    followed = course(slips, len(slips) - 1, update=dwells[0])
    np.testing.assert_allclose(followed[dwells[0] :], slips[dwells[0] :], atol=1e-9)


@pytest.mark.parametrize("slips", [np.linspace(0.1, 0.6, 20), np.full(20, 0.3)])
def test_without_a_rest_between_two_moves_nothing_swings(slips):
    assert course(slips, 12) is None


def test_a_world_that_begins_to_move_has_not_turned():
    assert course(np.concatenate([np.full(8, 0.1), np.linspace(0.1, 0.5, 8)]), 12) is None


def test_a_quiet_time_between_two_moves_is_a_rest_and_a_slower_one_is_not():
    def slips(quiet):
        return 0.1 + np.concatenate([[0.0], np.cumsum([0.04] * 5 + [quiet] * 5 + [0.04] * 5)])

    assert course(slips(0.02), 15) is None
    expected = course(slips(0.001), 15)
    assert expected[10] == pytest.approx(0.301) and expected[15] == pytest.approx(0.101)


def test_a_mixture_believes_a_swing_that_explains_what_was_seen():
    slips = 0.3 - 0.2 * np.cos(np.pi * np.arange(40) / 5)
    kernels = [SlipKernel((3, 3), slip) for slip in slips]
    bounds = np.array([float(a.entrywise_distance(b).max()) for a, b in pairwise(kernels)])
    then, now = 3, 17
    evidence = Evidence(now, 40, kernels[now - 1], kernels[0], bounds[:now], (then, kernels[then - 1]))
    weights = {future.name: future.weight for future in Mixture(family=SLIP).futures(evidence)}
    assert weights["slip rises and swings"] > 2 * max(weights["slip rises"], weights["slip falls"])


def evidence_of(kernel, pace=0.05, time=3, horizon=12):
    return Evidence(time, horizon, kernel, kernel, np.full(time, pace))


def test_each_action_comes_to_do_what_the_one_before_it_does():
    kernel = random_kernel(np.random.default_rng(0), 5, 3)
    rows = kernel.general().probabilities
    swapped = swapped_actions(kernel)(10.0).general()
    np.testing.assert_allclose(swapped.probabilities, rows[:, [2, 0, 1]])
    np.testing.assert_array_equal(swapped.successors, kernel.general().successors)


def test_no_entry_moves_by_more_than_the_drift_bounds_allow():
    rng = np.random.default_rng(1)
    for _ in range(20):
        kernel = random_kernel(rng, 4, 2)
        pace = rng.uniform(0.01, 0.2)
        found = {future.name: future for future in Mixture().futures(evidence_of(kernel, pace))}
        furthest = swapped_actions(kernel)(10.0).entrywise_distance(kernel).max()
        for t in range(3, 12):
            moved = found[SWAPPED].kernel(t).entrywise_distance(kernel).max()
            assert moved == pytest.approx(min(pace * (t - 2), furthest), abs=1e-12)


def test_no_plan_is_made_for_it():
    kernel = random_kernel(np.random.default_rng(2), 4, 2)
    futures = Mixture().futures(evidence_of(kernel))
    without = [future for future in futures if future.name != SWAPPED]
    assert [future.name for future in futures if not future.planned] == [SWAPPED]
    for t in (3, 7, 11):
        np.testing.assert_allclose(
            mean_kernel(futures)(t).general().probabilities,
            mean_kernel(without)(t).general().probabilities,
        )


def test_actions_of_a_grid_keep_their_direction():
    names = {future.name for future in Mixture().futures(evidence_of(SlipKernel((3, 3), 0.2)))}
    assert SWAPPED not in names
