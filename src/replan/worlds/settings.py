"""Settings: a TOML file, or the name of a built-in one, checked key by key and turned into a mission.

A setting is the parameters of a world together with those of a mission in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, TypeAdapter, ValidationError, field_validator, model_validator

from replan.errors import InputError, did_you_mean
from replan.execute.mission import Mission
from replan.forecast import Frozen
from replan.model import World
from replan.planning.ties import Ties
from replan.schedule.budget import Prices
from replan.skip.propagation import Execution
from replan.worlds.arrays import Arrays
from replan.worlds.crosswind import Crosswind
from replan.worlds.forecasts import ForecastKind, ForecastParameters, named_forecast
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


SPENDING = ("budget", "price", "look_price", "plan_price", "looks", "plans")
"""Keys of a setting that say how many updates there are, or what they cost."""

Price = Annotated[float, Field(ge=0, strict=False)]


class MissionParameters(Parameters):
    """Parameters that the setting of every world has."""

    planning_horizon: Whole
    """Steps that a plan looks ahead, H."""
    budget: int | None = None
    """Updates, B; with a price the most that can be made."""
    price: Price | None = None
    """Price of an update in units of reward."""
    look_price: Price | None = None
    """Price of a look, where looks and plans have prices of their own."""
    plan_price: Price | None = None
    """Price of a plan, where looks and plans have prices of their own."""
    looks: int | None = None
    """Budget of looks, where looks and plans have budgets of their own."""
    plans: int | None = None
    """Budget of plans, where looks and plans have budgets of their own."""
    ties: str = "first"
    """Action taken among tied ones: first, last or random(SEED)."""
    forecast: ForecastParameters | None = None
    """Forecast of the kernels after an update: a kind or a table; left out, frozen."""

    @field_validator("forecast", mode="before")
    @classmethod
    def _named_forecast(cls, value: Any) -> Any:
        return named_forecast(value)

    @field_validator("ties")
    @classmethod
    def _known_ties(cls, value: str) -> str:
        Ties.parse(value)
        return value

    @model_validator(mode="after")
    def _spends(self) -> MissionParameters:
        apart = self.look_price is not None or self.plan_price is not None
        if self.price is not None and apart:
            raise ValueError(
                "price is that of a look and a plan together: give it, or look_price and plan_price"
            )
        if (self.looks is None) != (self.plans is None) or (
            self.looks is not None and self.budget is not None
        ):
            raise ValueError("looks and plans are two budgets: give both, and no other budget")
        if self.budget is None and self.looks is None and self.prices is None:
            raise ValueError("missing key 'budget'")
        return self

    @property
    def prices(self) -> Prices | None:
        """Prices of a look and a plan, None where there are none."""
        if self.price is not None:
            return Prices(self.price / 2, self.price / 2)
        if self.look_price is None and self.plan_price is None:
            return None
        return Prices(self.look_price or 0.0, self.plan_price or 0.0, apart=True)

    @property
    def required_budget(self) -> int:
        """The budget; raises `InputError` where there are prices alone."""
        if self.budget is None:
            raise InputError("this needs a setting with a budget")
        return self.budget


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
    if isinstance(setting, (ArraysSetting, MapSetting)):
        setting = _with_file_beside(setting, where)
    if setting.forecast is not None:
        setting = setting.model_copy(update={"forecast": _with_file_beside(setting.forecast, where)})
    return setting


def _with_file_beside(parameters: Any, where: str) -> Any:
    """Return the parameters with their file taken from beside `where`, if it is there."""
    beside = None if parameters.file is None else Path(where).parent / parameters.file
    return parameters.model_copy(update={"file": str(beside)}) if beside and beside.exists() else parameters


def with_spending(setting: Setting, **given: Any) -> Setting:
    """Return the setting with these of the keys `SPENDING` in place of its own; None stands for not given."""
    given = {key: value for key, value in given.items() if value is not None}
    if not given:
        return setting
    return parse_setting(replace_spending(setting.model_dump(mode="json", exclude_none=True), given))


def replace_spending(data: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a setting with `given` keys; one of `SPENDING` drops all of them that it has."""
    drops = SPENDING if any(key in SPENDING for key in given) else ()
    return {key: value for key, value in data.items() if key not in drops} | given


def make_mission(
    setting: Setting,
    *,
    execution: Execution = "map",
    forecast: ForecastParameters | ForecastKind | None = None,
    world: World | None = None,
    **spending: Any,
) -> Mission:
    """Return the mission of a setting, with another forecast, world or keys of `SPENDING` where given."""
    if isinstance(setting, str):
        raise InputError(f"a mission is made of a setting: load_setting({setting!r})")
    setting = with_spending(setting, **spending)
    if isinstance(forecast, str):
        if forecast not in get_args(ForecastKind):
            raise InputError(
                f"there is no forecast {forecast!r}{did_you_mean(forecast, get_args(ForecastKind))}"
            )
        forecast = ForecastParameters(kind=forecast)
    world, forecast = world or setting.build(), forecast or setting.forecast
    return Mission(
        world=world,
        budget=setting.budget,
        prices=setting.prices,
        looks=setting.looks,
        plans=setting.plans,
        planning_horizon=setting.planning_horizon,
        ties=Ties.parse(setting.ties),
        execution=execution,
        forecast=Frozen() if forecast is None else forecast.build(world),
    )
