"""Remarks on settings that are valid but may not be what was meant."""

import numpy as np
import pytest

from replan import load_setting, make_mission, parse_setting, rover
from replan.worlds.setting_notes import goal_in_reach, setting_notes


def notes(**changed):
    data = load_setting("two-burst").model_dump(mode="json", exclude_none=True) | changed
    setting = parse_setting(data)
    return setting_notes(setting, make_mission(setting).world)


def test_an_ordinary_setting_has_none():
    assert notes() == []


@pytest.mark.parametrize(
    ("drift", "first"),
    [
        ({"kind": "linear", "slip": 0.1, "rate": 0.02}, 26),
        ({"kind": "sinusoidal", "slip": 0.1, "amplitude": 0.3, "period": 20.0}, 12),
        ({"kind": "piecewise", "slip": 0.1, "quiet": 0.0, "bursts": [[0.2, 0.9, 0.05]]}, 21),
    ],
)
def test_clipped_drift_is_named_with_its_first_step(drift, first):
    (note,) = notes(drift=drift)
    assert "0.6" in note and f"t = {first}" in note


@pytest.mark.parametrize("drift", [{"kind": "linear", "slip": 0.0, "rate": 0.0}])
def test_slip_that_stays_at_a_limit_by_itself_is_not_clipped(drift):
    assert notes(drift=drift) == []


def test_a_goal_out_of_reach_is_named():
    (note,) = notes(n=40, horizon=30)
    assert "goal" in note and "30 steps" in note


def test_reach_counts_steps_and_walls():
    """The far corner of a 4 x 4 grid is 6 moves away."""
    assert goal_in_reach(rover(4, np.full(6, 0.1)))
    assert not goal_in_reach(rover(4, np.full(5, 0.1)))
    assert not goal_in_reach(rover(4, np.full(50, 0.1), obstacles=[(3, 2), (2, 3), (2, 2)]))
