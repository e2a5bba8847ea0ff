"""The nine built-in settings: valid worlds, and the shares of the regret that they were made for."""

import inspect

import numpy as np
import pytest

from replan.errors import InputError
from replan.evaluation import decompose
from replan.execute import Mission
from replan.model import check_tvmdp
from replan.schedule import Periodic
from replan.worlds import SETTINGS, WORLDS, build_world, built_in_setting

WORTH_REPLANNING = [name for name in SETTINGS if not name.endswith("mild")]


def mission_of(name, execution="map"):
    setting = built_in_setting(name)
    return Mission(build_world(setting), setting["budget"], setting["planning_horizon"], execution=execution)


def test_there_are_three_settings_for_each_of_three_worlds():
    assert len(SETTINGS) == len(set(SETTINGS)) == 9
    assert {name.rsplit("-", 1)[0] for name in SETTINGS} == set(WORLDS)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_world_is_valid_and_drifts(name):
    world = mission_of(name).world
    assert check_tvmdp(world) == []
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


@pytest.mark.parametrize("world", ["thin-ice", "crosswind"])
def test_the_defaults_of_a_builder_are_its_hard_setting(world):
    setting = built_in_setting(f"{world}-hard")
    section = next(value for value in setting.values() if isinstance(value, dict))
    defaults = {name: p.default for name, p in inspect.signature(WORLDS[world]).parameters.items()}
    assert defaults == {key: setting[key] for key in ("n", "horizon") if key in setting} | section


def test_unknown_names_and_keys_are_refused_by_name():
    with pytest.raises(InputError, match="thick-ice"):
        built_in_setting("thick-ice")
    with pytest.raises(InputError, match="moon"):
        build_world({"world": "moon"})
    with pytest.raises(InputError, match="colour"):
        build_world({"world": "thin-ice", "horizon": 10, "ice": {"colour": "blue"}})
