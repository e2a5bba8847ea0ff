"""Drift is held to the end, or goes on for as long again as it has lasted, and for a while at least."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.forecast.lasting_drift import held_bounds, lasting_bounds

BOUNDS = st.lists(st.floats(0, 1), max_size=30)


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


@given(BOUNDS, st.integers(31, 60))
def test_what_is_known_is_kept_and_drift_goes_on_at_its_last_pace_and_then_rests(known, horizon):
    found = lasting_bounds(np.array(known), horizon)
    assert found.shape == (horizon - 1,)
    ahead = found[len(known) :]
    np.testing.assert_array_equal(found[: len(known)], known)
    moves = int((ahead > 0).sum())
    assert (ahead[:moves] == (known or [0.0])[-1]).all() and not ahead[moves:].any()
    lasted = next((i for i, bound in enumerate(known[::-1]) if bound == 0.0), len(known))
    assert moves < lasted or ahead.sum() <= 0.35 + 1e-12


@given(BOUNDS, st.sampled_from([0.25, 0.5]))
def test_what_is_slower_does_not_rest_before(known, scale):
    fast, slow = (lasting_bounds(np.round(known, 3) * factor, 50) for factor in (1, scale))
    assert (slow[fast > 0] > 0).all()


@pytest.mark.parametrize("bounds_of", [held_bounds, lasting_bounds])
def test_before_anything_is_known_nothing_moves(bounds_of):
    assert bounds_of(np.empty(0), 10).tolist() == [0.0] * 9


@given(BOUNDS, st.integers(2, 60))
def test_drift_is_held_or_rests_before_and_what_is_known_is_the_same(known, horizon):
    held, lasting = (bounds_of(np.array(known), horizon) for bounds_of in (held_bounds, lasting_bounds))
    assert held.tolist() == (known + (known or [0.0])[-1:] * horizon)[: horizon - 1]
    assert ((lasting == held) | (lasting == 0.0)).all()
