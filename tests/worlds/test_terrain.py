"""Patches drift as told, and bounds per state and action beat one bound for the whole grid."""

from dataclasses import replace

import numpy as np
import pytest
from examples.where_regret_comes_from import LocalDrift, planned_way

from replan import Robot, Spending
from replan.certificates.certificate import certify
from replan.certificates.in_advance import certify_ahead
from replan.errors import InputError
from replan.evaluation.exact import regret
from replan.execute.mission import Mission
from replan.model.checks import check_world
from replan.model.world import local_drift_bounds
from replan.planning.optimal_values import oracle
from replan.schedule.fixed import FixedTimes
from replan.worlds.forecasts import ForecastParameters
from replan.worlds.settings import load_setting, make_mission
from replan.worlds.terrain import Ground, Patch, Terrain


def build(n=12, **ground):
    return Terrain(n=n, terrain=Ground(**ground)).build()


def test_a_patch_drifts_in_a_straight_line_and_the_ground_around_it_not_at_all():
    world = build(
        n=5, slip=0.1, patches=[Patch(rows=(1, 2), columns=(3, 4), slip=0.2, final_slip=0.6, begin=2, end=6)]
    )
    for t, slip in ((0, 0.2), (2, 0.2), (3, 0.3), (5, 0.5), (6, 0.6), (39, 0.6)):
        field = world.kernel(t).slip.reshape(5, 5)
        assert field[1:3, 3:] == pytest.approx(slip)
        assert np.delete(field.reshape(-1), [8, 9, 13, 14]) == pytest.approx(0.1)


def test_the_family_of_one_patch_that_drifts_is_exact_and_that_of_several_is_not():
    still = {"rows": (0, 0), "columns": (0, 4), "slip": 0.3}
    sand = {"rows": (1, 2), "columns": (0, 4), "slip": 0.1, "final_slip": 0.9, "begin": 1, "end": 6}
    dune = sand | {"rows": (4, 4)}
    world = build(n=5, patches=[still, sand], walls=[(3, 0, 3, 2)])
    assert [world.family.share_of(world.kernel(t)) for t in (0, 6)] == pytest.approx([0.1, 0.9])
    assert check_world(world) == []
    assert not build(n=5, patches=[still, sand, dune]).family.exact
    mission = Mission(world, Robot(planning_horizon=20), Spending.exactly(2))
    boxes = replace(world, family=None)
    true, values = regret(mission, FixedTimes((1, 6))), []
    for make in (certify, certify_ahead):
        found, loose = make(mission, (1, 6)), make(replace(mission, world=boxes), (1, 6))
        assert true <= found.value + 1e-9 < loose.value
        values.append(found.value / loose.value)
    assert max(values) < 0.5


def test_later_patches_lie_over_earlier_ones_and_may_be_mappings():
    patches = [Patch(rows=(0, 4), columns=(0, 4), slip=0.3), {"rows": [2, 2], "columns": [2, 2], "slip": 0.5}]
    slip = build(n=5, patches=patches).kernel(0).slip
    assert slip[12] == 0.5
    assert (np.delete(slip, 12) == 0.3).all()


def test_walls_are_not_entered():
    kernel = build(n=5, walls=[(2, 0, 2, 3)]).kernel(0).general().dense()
    walled = np.arange(10, 14)
    assert np.delete(kernel, walled, axis=0)[:, :, walled].max() == 0


def test_what_cannot_be_built_is_refused_by_name():
    patch = {"rows": [0, 1], "columns": [0, 1], "slip": 0.1}
    for wrong, name in (
        ({"patches": [{**patch, "rows": [3, 99]}]}, "rows"),
        ({"patches": [{**patch, "final_slip": 1.5}]}, "final_slip"),
        ({"patches": [{**patch, "begin": 5, "end": 5}]}, "end"),
        ({"patches": [{**patch, "colour": "red"}]}, "colour"),
        ({"walls": [[0, 0, 0]]}, "wall"),
        ({"walls": [[0, 0, 0, 12]]}, "wall"),
        ({"walls": [[0, 0, 0, 3]]}, "start"),
        ({"goal": [12, 0]}, "goal"),
    ):
        with pytest.raises(InputError, match=name):
            build(**wrong)


def mission_with_dunes(degree, shift):
    """The built-in setting with the drift of the dunes, where nobody goes, moved in time."""
    setting = load_setting(f"terrain-{degree}")
    sand, *dunes = setting.terrain.patches
    begins = [(dune.begin + shift) % 36 for dune in dunes]
    moved = [
        dune.model_copy(update={"begin": t, "end": t + 3}) for dune, t in zip(dunes, begins, strict=True)
    ]
    ground = setting.terrain.model_copy(update={"patches": [sand, *moved]})
    return make_mission(setting.model_copy(update={"terrain": ground}))


def both_bounds(world):
    """Per state and action, and the uniform bound in the same shape."""
    local = local_drift_bounds(world.kernel, world.horizon)
    return local, np.broadcast_to(world.drift_bounds[:, None, None], local.shape)


@pytest.mark.parametrize("degree", ["medium", "hard"])
def test_one_bound_for_the_grid_adds_up_to_several_times_the_drift_on_the_way(degree):
    mission = mission_with_dunes(degree, shift=0)
    local, uniform = both_bounds(mission.world)
    rule = LocalDrift(local, threshold=1)
    states, actions = planned_way(mission.context(rule, mission.progress(1, 3), mission.world.start))
    on_the_way = local[:, states, actions].sum(axis=0).max()
    assert on_the_way > 0.7  # the sand at the gate does lie on it
    assert uniform[:, 0, 0].sum() > 3.5 * on_the_way


@pytest.mark.parametrize("degree", ["medium", pytest.param("hard", marks=pytest.mark.slow)])
def test_bounds_per_state_and_action_take_a_third_off_the_regret_of_a_threshold_on_drift(degree):
    """One threshold each for worlds that differ only in when the dunes shift.

    In a single world a threshold on the uniform bound can be tuned until it fires at the right time by luck.
    """
    thresholds, shifts = (0.05, 0.55, 1.05), range(0, 36, 6)
    local, uniform = [], []
    for shift in shifts:
        mission = mission_with_dunes(degree, shift)
        best, (local_bounds, uniform_bounds) = oracle(mission.world), both_bounds(mission.world)
        uniform.append([regret(mission, LocalDrift(uniform_bounds, at), best=best) for at in thresholds])
        if shift in (0, 18):
            local.append([regret(mission, LocalDrift(local_bounds, at), best=best) for at in thresholds])
    assert np.ptp(local, axis=0).max() < 1e-3  # the dunes do not concern it, so two shifts speak for all
    assert np.ptp(uniform, axis=0).max() > 1
    assert np.mean(local, axis=0).min() < 0.67 * np.mean(uniform, axis=0).min()


def test_of_many_patches_an_estimator_tries_the_first_and_a_forecast_moves_all_and_none_that_is_covered():
    def patch(row):
        return {"rows": [row, row], "columns": [0, 3], "slip": 0.1, "final_slip": 0.5}

    def families(*rows):
        world = Terrain(n=4, terrain={"patches": [patch(row) for row in rows]}).build()
        return [family and list(family.values) for family in (world.family, world.family.moves)]

    assert families(1) == [["slip of patch 1"], None]
    assert families(1, 2) == [["slip of patch 1", "slip of patch 2"], None]
    assert families(1, 1, 2) == [["slip of patch 2", "slip of patch 3"], None]
    assert families(0, 1, 3) == [["slip of patch 1"], ["slip of the patches"]]
    world = Terrain(n=4, terrain={"patches": [patch(row) for row in (0, 1, 3)]}).build()
    slip = world.family.moves.member(0.7).slip.reshape(4, 4)
    np.testing.assert_allclose(slip, np.array([[0.7], [0.7], [0.02], [0.7]]) * np.ones(4))
    mixture = ForecastParameters(kind="mixture").build(world).informed_by(world.knowledge, None)
    assert mixture.family is world.family.moves
