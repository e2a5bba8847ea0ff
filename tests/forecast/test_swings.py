"""What swings is followed through its turns, since it rests there, and is expected to swing on."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.forecast import Evidence, Mixture
from replan.forecast.swings import swinging
from replan.model import Family, SlipKernel

GRID = SlipKernel((3, 3), 0.1)
SLIP = Family.of_one_slip(GRID)


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
