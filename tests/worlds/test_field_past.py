"""The past of a field: changes of the displacement at each cell, from maps before the mission only."""

import numpy as np
import pytest
from tests.worlds.field_files import HOURS, MISSION, currents

from replan import Archive, InputError, Lookahead, Mission, Robot, Spending, evaluate
from replan.forecast.base import Evidence
from replan.model.combination import combine
from replan.worlds.field import field_world

LATER = MISSION | {"start_time": "2020-03-06", "horizon": 4, "step": 21_600.0}


def swirling(seed=0, *, same_until=np.inf):
    """Currents that differ by place and time; after `same_until` hours also by seed."""
    parts = [np.random.default_rng(each).normal(0, 0.15, (len(HOURS), 9, 11)) for each in (7, seed)]
    values = np.where((same_until >= HOURS)[:, None, None], *parts)
    dataset = currents()
    return dataset.assign(a=dataset["a"] + values, b=dataset["b"] - values)


def evidence_in(world):
    return Evidence(1, world.horizon, world.kernel(0), world.kernel(0), world.drift_bounds[:1])


def mean_displacement(kernel, shape):
    """(S, A, 2) rows and columns, from the dense kernel."""
    places = np.stack(np.divmod(np.arange(kernel.states), shape[1]), axis=1)
    return kernel.dense() @ places - places[:, None]


def test_a_changed_kernel_moves_the_vehicle_by_as_much_more_as_drifting_changed_then():
    world = field_world(swirling(), **LATER)
    past, present = world.past, world.kernel(0)
    assert (past.length, past.period) == (20, 4)
    free = np.zeros(world.grid, dtype=bool)
    free[3:-3, 7:-2] = True  # away from the edge and the island
    cells = np.flatnonzero(free)
    for start, steps in ((0, 19), (2, 3), (5, 1)):
        changed = past.changed(present, start, steps)
        then = [mean_displacement(world.kernel(at - 20), world.grid)[:, -1] for at in (start, start + steps)]
        expected = mean_displacement(present, world.grid) + (then[1] - then[0])[:, None]
        found = mean_displacement(changed, world.grid)
        assert np.abs(found - expected)[cells].max() < 1e-9
        assert np.abs(expected - mean_displacement(present, world.grid))[cells].max() > 0.01
        assert changed.dense()[~changed.land][:, :, changed.land].max() == 0
    assert past.changed(present, 4, 0) is present


def test_the_records_nearest_to_the_estimate_are_chosen():
    world = field_world(swirling(), **LATER)
    for start in range(0, 20, 3):
        apart = [world.past.distance(world.kernel(start - 20), other) for other in range(20)]
        assert apart[start] == pytest.approx(0, abs=1e-9) and sorted(apart)[1] > 0.1


@pytest.mark.parametrize("start_time", ["2020-03-06", "2020-03-06T07:00"])
def test_maps_after_the_start_change_nothing(start_time):
    """They differ between two fields, and so do the worlds, but not what is expected of the same estimate."""
    given = LATER | {"start_time": start_time}
    worlds = [field_world(swirling(seed, same_until=5 * 24), **given) for seed in (1, 2)]
    assert np.abs(worlds[0].kernel(2).dense() - worlds[1].kernel(2).dense()).max() > 0.01
    evidence = evidence_in(worlds[0])
    expected = [Archive(3).informed_by(world.knowledge, None).futures(evidence) for world in worlds]
    for one, other in zip(*expected, strict=True):
        assert one.name == other.name
        for t in range(1, 4):
            np.testing.assert_array_equal(one.kernel(t).dense(), other.kernel(t).dense())


def test_a_kernel_that_is_no_displacement_is_changed_by_its_probabilities():
    world = field_world(swirling(), **LATER)
    general = combine([world.kernel(0), world.kernel(1)], [0.5, 0.5])
    before, after = world.kernel(-18), world.kernel(-16)
    expected = np.maximum(general.dense() + after.dense() - before.dense(), 0)
    expected /= expected.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(world.past.changed(general, 2, 2).dense(), expected, atol=1e-12)


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_look_ahead_on_an_archive_of_the_field_spends_its_budget(execution):
    world = field_world(swirling(), **LATER)
    robot = Robot(planning_horizon=3, execution=execution, forecast=Archive(2))
    assert evaluate(
        Mission(world, robot, Spending.exactly(2)), Lookahead()
    ).expected_updates == pytest.approx(2)


def test_a_field_that_begins_with_the_mission_has_no_past():
    world = field_world(currents(), **(MISSION | {"start_time": "2020-03-01"}))
    assert world.past is None
    with pytest.raises(InputError, match="archive needs a world with a past, such as wind or a field"):
        Archive().informed_by(world.knowledge, None)
