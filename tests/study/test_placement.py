"""Table 2's diagnostics on schedules small enough to count."""

import numpy as np
import pytest

from replan.study.placement import (
    fast_drift_intervals,
    measure_placement,
    stale_drifts,
    top_quartile_intervals,
)
from replan.worlds.settings import load_setting, make_mission

BOUNDS = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])  # T = 7


def test_counts_leave_the_first_update_out():
    found = measure_placement((1, 3, 5, 6), BOUNDS, [(1, 2), (2, 4), (5, 7)])
    assert (found.updates, found.updates_inside) == (3, 3)
    assert (found.intervals, found.intervals_met) == (3, 2)


def test_an_interval_ends_before_its_end():
    found = measure_placement((1, 4), BOUNDS, [(2, 4)])
    assert (found.updates_inside, found.intervals_met) == (0, 0)
    assert measure_placement((1, 3), BOUNDS, [(2, 4)]).updates_inside == 1


def test_stale_drift_by_hand():
    # updates at 1 and 4. t = 2, 3, 4 count from epsilon_0, t = 5, 6 from epsilon_3
    assert stale_drifts((1, 4), BOUNDS) == pytest.approx([3, 6, 10, 4 + 5, 4 + 5 + 6])
    found = measure_placement((1, 4), BOUNDS, [])
    assert found.mean_stale_drift == pytest.approx(43 / 5)
    assert found.max_stale_drift == pytest.approx(15)


def test_stale_drift_before_the_first_update_counts_from_the_plan_of_the_start():
    assert stale_drifts((), BOUNDS) == pytest.approx([3, 6, 10, 15, 21])
    assert stale_drifts((4,), BOUNDS) == pytest.approx(stale_drifts((1, 4), BOUNDS))


def test_top_quartile_intervals_are_contiguous():
    drift = np.array([5, 5, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0.1])  # the third quartile is 1.075
    assert top_quartile_intervals(drift) == [(0, 2), (5, 6)]


def test_rounding_does_not_break_an_interval():
    drift = np.array([1, 1 + 1e-15, 0, 0, 1 - 1e-15, 1, 0, 0])
    assert top_quartile_intervals(drift) == [(0, 2), (4, 6)]


@pytest.mark.parametrize("still", [0.0, 0.001])
def test_steps_that_drift_like_most_others_are_not_fast(still):
    drift = np.full(40, still)
    drift[7:12] = 0.2
    assert top_quartile_intervals(drift) == [(7, 12)]
    assert top_quartile_intervals(np.full(40, still)) == []


@pytest.mark.parametrize(
    ("name", "intervals"), [("thin-ice-medium", [(0, 9)]), ("crosswind-medium", [(2, 6)])]
)
def test_fast_drift_of_a_world_that_is_mostly_still_is_where_it_moves(name, intervals):
    world = make_mission(load_setting(name)).world
    assert top_quartile_intervals(world.drift_bounds) == intervals


def test_a_world_is_fast_where_it_changes_at_least_half_as_fast_as_at_its_fastest():
    assert fast_drift_intervals(np.array([0.1, 0.5, 1.0, 0.49, 0.0, 0.6])) == [(1, 3), (5, 6)]
    assert fast_drift_intervals(np.full(5, 0.2)) == [] and fast_drift_intervals(np.zeros(5)) == []
