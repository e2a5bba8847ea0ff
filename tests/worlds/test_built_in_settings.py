"""The nine built-in settings of three worlds: valid, with the shares of regret that they were made for."""

import numpy as np
import pytest

from replan.evaluation.decomposition import decompose
from replan.model.checks import check_world
from replan.schedule.periodic import Periodic
from replan.worlds.crosswind import Crosswind
from replan.worlds.settings import list_names, load_setting, make_mission
from replan.worlds.thin_ice import ThinIce

WORLDS = ("thin-ice", "crosswind", "terrain")
SETTINGS = [name for name in list_names("settings") if name.startswith(WORLDS)]
WORTH_REPLANNING = [name for name in SETTINGS if not name.endswith("mild")]


def mission_of(name, execution="map"):
    return make_mission(load_setting(name), execution=execution)


def test_there_are_three_settings_for_each_of_three_worlds():
    assert len(SETTINGS) == len(set(SETTINGS)) == 9
    assert {name.rsplit("-", 1)[0] for name in SETTINGS} == set(WORLDS)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_world_is_valid_and_drifts(name):
    world = mission_of(name).world
    assert check_world(world) == []
    assert world.drift_bounds.max() > 0.02
    assert world.drift_bounds.max() < 0.3
    assert (world.drift_bounds == 0).any()  # some steps are quiet


@pytest.mark.parametrize("name", [name for name in SETTINGS if not name.startswith("terrain")])
def test_a_world_that_is_no_grid_of_moves_declares_where_steps_can_lead(name):
    world = mission_of(name).world
    assert world.declared_successors is not None
    assert 5 <= world.declared_successors.shape[1] <= 9


@pytest.mark.parametrize("name", WORTH_REPLANNING)
@pytest.mark.parametrize("execution", ["map", "belief"])
def test_at_least_thirty_per_cent_of_the_periodic_regret_is_the_stale_plan_and_the_wrong_model(
    name, execution
):
    parts = decompose(mission_of(name, execution), Periodic())
    assert parts.shares["plan"] + parts.shares["model"] >= 0.30
    assert parts.regret > 0.9
    assert parts.state + parts.plan + parts.model == pytest.approx(parts.regret, abs=1e-9)


@pytest.mark.parametrize("name", [name for name in SETTINGS if name.endswith("mild")])
def test_in_the_mild_settings_it_is_the_state_not_seen(name):
    parts = decompose(mission_of(name), Periodic())
    assert parts.shares["state"] > 0.85


@pytest.mark.parametrize("world", WORLDS)
def test_harder_settings_cost_more(world):
    regrets = [
        decompose(mission_of(f"{world}-{degree}"), Periodic()).regret for degree in ("mild", "medium", "hard")
    ]
    assert (np.diff(regrets) > 0).all()


@pytest.mark.parametrize("world", [ThinIce(), Crosswind()])
def test_the_defaults_of_a_world_are_those_of_its_hard_setting(world):
    name = {"ThinIce": "thin-ice", "Crosswind": "crosswind"}[type(world).__name__]
    hard = load_setting(f"{name}-hard").model_dump()
    assert world.model_dump() == {key: hard[key] for key in type(world).model_fields}
