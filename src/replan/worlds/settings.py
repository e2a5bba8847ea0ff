"""Settings: a TOML file, or the name of a built-in one, checked key by key and turned into a mission.

A setting is the parameters of a world together with those of a mission in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError, field_validator

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.planning.ties import Ties
from replan.skip.propagation import Execution
from replan.worlds.arrays import Arrays
from replan.worlds.crosswind import Crosswind
from replan.worlds.map_world import Map
from replan.worlds.mars_rover import Rover
from replan.worlds.ns_bridge import NSBridge
from replan.worlds.parameters import Parameters, Whole, one_line
from replan.worlds.random_kernels import RandomKernels
from replan.worlds.terrain import Terrain
from replan.worlds.thin_ice import ThinIce
from replan.worlds.toml_files import builtin_names, parse_toml, read_toml

FILES = {"package": "replan.worlds", "folder": "setting_files"}
PAPER_SETTINGS = (
    "late-burst",
    "two-burst",
    "alternating",
    "sinusoidal-medium",
    "narrow-late",
    "sparse-late-60",
    "sparse-late-50",
    "three-short",
)


class MissionParameters(Parameters):
    """Parameters that the setting of every world has."""

    planning_horizon: Whole
    """Steps that a plan looks ahead, H."""
    budget: int
    """Updates, B."""
    ties: str = "first"
    """Action taken among tied ones: first, last or random(SEED)."""

    @field_validator("ties")
    @classmethod
    def _known_ties(cls, value: str) -> str:
        Ties.parse(value)
        return value


class RoverSetting(Rover, MissionParameters):
    """Setting of the world `rover`."""

    world: Literal["rover"]


class ThinIceSetting(ThinIce, MissionParameters):
    """Setting of the world `thin-ice`."""

    world: Literal["thin-ice"]


class CrosswindSetting(Crosswind, MissionParameters):
    """Setting of the world `crosswind`."""

    world: Literal["crosswind"]


class TerrainSetting(Terrain, MissionParameters):
    """Setting of the world `terrain`."""

    world: Literal["terrain"]


class NSBridgeSetting(NSBridge, MissionParameters):
    """Setting of the world `nsbridge`."""

    world: Literal["nsbridge"]


class ArraysSetting(Arrays, MissionParameters):
    """Setting of the world `arrays`."""

    world: Literal["arrays"]


class RandomKernelsSetting(RandomKernels, MissionParameters):
    """Setting of the world `random-kernels`."""

    world: Literal["random-kernels"]


class MapSetting(Map, MissionParameters):
    """Setting of the world `map`."""

    world: Literal["map"]


Setting = (
    RoverSetting
    | ThinIceSetting
    | CrosswindSetting
    | TerrainSetting
    | NSBridgeSetting
    | RandomKernelsSetting
    | MapSetting
    | ArraysSetting
)
OTHER_SECTIONS = {"screen", "scheduler"}
"""Sections of a setting file that are not part of the setting: the explorer's, and that of `replan ros`."""
WORLDS: dict[str, type[Parameters]] = {
    "rover": Rover,
    "thin-ice": ThinIce,
    "crosswind": Crosswind,
    "terrain": Terrain,
    "nsbridge": NSBridge,
    "random-kernels": RandomKernels,
    "map": Map,
    "arrays": Arrays,
}
_ADAPTER: TypeAdapter[Setting] = TypeAdapter(Annotated[Setting, Field(discriminator="world")])


def builtin_settings() -> list[str]:
    """Return the names of the settings that come with replan, the paper's first."""
    names = builtin_names(**FILES)
    return [*PAPER_SETTINGS, *(name for name in names if name not in PAPER_SETTINGS)]


def load_setting(source: str | Path) -> Setting:
    """Return the setting in a TOML file, or the built-in one of that name."""
    text, where = read_toml(source, **FILES, what="setting")
    return parse_setting(parse_toml(text, where=where), where=where)


def parse_setting(data: dict[str, Any], *, where: str = "setting") -> Setting:
    """Return the setting in plain data, without the sections that are not part of it.

    The first fault raises an `InputError` that names its key.
    """
    data = {key: value for key, value in data.items() if key not in OTHER_SECTIONS}
    try:
        setting = _ADAPTER.validate_python(data)
    except ValidationError as error:
        raise InputError(f"{where}: {one_line(error)}") from None
    if isinstance(setting, (ArraysSetting, MapSetting)) and setting.file is not None:
        beside = Path(where).parent / setting.file
        if beside.exists():
            setting = setting.model_copy(update={"file": str(beside)})
    return setting


def make_mission(setting: Setting, *, execution: Execution = "map", budget: int | None = None) -> Mission:
    """Return the mission of a setting, with its budget or another."""
    return Mission(
        world=setting.build(),
        budget=setting.budget if budget is None else budget,
        planning_horizon=setting.planning_horizon,
        ties=Ties.parse(setting.ties),
        execution=execution,
    )
