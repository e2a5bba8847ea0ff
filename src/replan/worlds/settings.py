"""Settings: a TOML file, or the name of a built-in one, checked key by key and turned into a mission.

A setting is the parameters of a world together with those of a mission in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from pydantic import Field, ValidationError, create_model, field_validator, model_validator

from replan.errors import InputError, did_you_mean, require, require_extra, require_word
from replan.execute.mission import Mission
from replan.execute.robot import Robot
from replan.forecast.base import Forecast, Frozen
from replan.model.world import World
from replan.planning.ties import Ties
from replan.skip.acting import Execution
from replan.skip.spending import Spending
from replan.typing import Meanwhile
from replan.worlds.forecasts import ForecastKind, ForecastParameters, named_forecast
from replan.worlds.parameters import (
    WORLDS,
    Whole,
    WorldParameters,
    builtin_names,
    one_line,
    parse_toml,
    read_toml,
)
from replan.worlds.robot_words import as_durations, check_steps

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


SPENDING = ("budget", "price")
"""Keys of a setting that say how many updates there are, or what they cost."""

Price = Annotated[float, Field(ge=0)]


class Setting(WorldParameters):
    """Parameters of a mission. The setting of a world has the parameters of that world too."""

    world: str
    """Name of the world."""
    planning_horizon: Whole
    """Steps that a plan looks ahead, H."""
    budget: int | None = None
    """Updates, B; with a price the most that can be made."""
    price: Price | None = None
    """Price of an update in units of reward."""
    ties: str = "first"
    """Action taken among tied ones: first, last or random(SEED)."""
    forecast: ForecastParameters | None = None
    """Forecast of the kernels after an update: a kind or a table; left out, frozen."""
    update_steps: int | dict[str, Price] | None = None
    """Steps that an update takes, or a table of steps and their probabilities; left out, 0."""
    meanwhile: Meanwhile | None = None
    """Acting while an update runs: go-on with the old plan, or wait; left out, go-on."""

    @field_validator("update_steps", mode="before")
    @classmethod
    def _known_steps(cls, value: Any) -> Any:
        return value if value is None else check_steps(value)

    @property
    def latency(self) -> dict[str, Any]:
        """The fields of the robot that say how long updates take, as far as they are given."""
        given = {"meanwhile": self.meanwhile}
        if self.update_steps is not None:
            given["update_steps"] = as_durations(self.update_steps)
        return {name: value for name, value in given.items() if value is not None}

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
    def _spends(self) -> Setting:
        if self.budget is None and self.price is None:
            raise ValueError("missing key 'budget'")
        return self

    @property
    def spending(self) -> Spending:
        """The budget, spent exactly, or the price of an update."""
        return Spending(self.budget, exact=self.price is None, price=self.price)

    def files(self) -> list[Path]:
        """Return the files of the world and of the forecast."""
        forecast = self.forecast
        if forecast is None:
            return super().files()
        other = [] if forecast.world is None else _with_keys(self, forecast.world).files()
        return [*super().files(), *forecast.files(), *other]

    def beside(self, folder: Path) -> Self:
        """Return the setting with the files that lie in the folder, if there are any."""
        found = super().beside(folder)
        if found.forecast is None:
            return found
        return found.model_copy(update={"forecast": found.forecast.beside(folder)})

    @property
    def required_budget(self) -> int:
        """The budget. Raises `InputError` if there is only a price."""
        if self.budget is None:
            raise InputError("this needs a setting with a budget")
        return self.budget


FAMILIES: dict[str, Callable[[str], Mapping[str, Mapping[str, Any]]]] = {}
"""Functions that return the data of a family's settings by name; studies name a family by key, as `suite`."""
OTHER_SECTIONS = {"screen", "scheduler"}
"""Sections of a setting file that are not part of the setting: the explorer's, and that of `replan ros`."""
SEARCHED = 20_000_000
"""States times steps up to which the goal is looked for."""

TABLE = {
    "arrays": "replan.worlds.general_kernels:Arrays",
    "crosswind": "replan.worlds.crosswind:Crosswind",
    "field": "replan.worlds.field:MeasuredField",
    "map": "replan.worlds.map_world:Map",
    "nsbridge": "replan.worlds.ns_bridge:NSBridge",
    "random-kernels": "replan.worlds.general_kernels:RandomKernels",
    "rover": "replan.worlds.mars_rover:Rover",
    "terrain": "replan.worlds.terrain:Terrain",
    "thin-ice": "replan.worlds.thin_ice:ThinIce",
    "wind": "replan.worlds.wind:MeasuredWind",
}
"""Parameters of each world that comes with replan; `@register_world` adds those of this process."""
NEEDED = {"field": "field"}
"""Extra of the installation that a world needs."""


NamedKind = Literal["settings", "rules", "worlds", "estimators", "forecasts", "executions"]


def list_names(kind: NamedKind) -> list[str]:
    """Return the names that settings, studies and commands take.

    Parameters
    ----------
    kind : {"settings", "rules", "worlds", "estimators", "forecasts", "executions"}
        The paper's settings stand first.

    Returns
    -------
    list of str
        The names.
    """
    require_word(get_args(NamedKind), kind=kind)
    if kind == "rules":
        from replan.schedule.registry import rule_names

        return rule_names()
    if kind == "estimators":
        from replan.worlds.estimators import ESTIMATORS

        return list(ESTIMATORS)
    if kind == "settings":
        names = builtin_names(**FILES)
        return [*PAPER_SETTINGS, *(name for name in names if name not in PAPER_SETTINGS)]
    if kind == "worlds":
        return sorted(TABLE.keys() | WORLDS.keys())
    return list(get_args(ForecastKind if kind == "forecasts" else Execution))


class OwnWorld(Setting):
    """A mission in a world that a function of the user's makes."""

    world: str
    """`file.py:function` or `package.module:function`; the function returns a `World`."""
    horizon: None = None
    """That of the world."""

    def files(self) -> list[Path]:
        """Return the file of the function, and those of the forecast."""
        place = Path(self.world.rpartition(":")[0])
        return [*super().files(), *self.matching(place)]

    def beside(self, folder: Path) -> Self:
        """Return the setting with the function of a file in the folder, if it lies there."""
        place, _, function = self.world.rpartition(":")
        found = super().beside(folder)
        if not self.matching(folder / place):
            return found
        return found.model_copy(update={"world": f"{folder / place}:{function}"})

    def build(self) -> World:
        """Return the world of the function."""
        from replan.schedule.registry import load_function

        world = load_function(self.world)()
        require(World, **{self.world: world})
        return world


def world_type(name: str) -> type[WorldParameters]:
    """Return the parameters of the world of that name."""
    if name not in WORLDS and name in TABLE:
        module, _, kind = TABLE[name].partition(":")
        return vars(import_module(module))[kind]
    return WORLDS[name]


def setting_type(name: str) -> type[Setting]:
    """Return the class of the settings of a world."""
    return OwnWorld if ":" in name else _setting_type(name, world_type(name))


@cache
def _setting_type(name: str, kind: Any) -> type[Setting]:
    fields: dict[str, Any] = {"world": (Literal[name], ...)}
    return create_model(f"{kind.__name__}Setting", __base__=(kind, Setting), __module__=__name__, **fields)


def load_setting(source: str | Path) -> Setting:
    """Load the setting in a TOML file, or the built-in one of that name.

    Parameters
    ----------
    source : str or Path
        A TOML file, or the name of a built-in setting.

    Returns
    -------
    Setting
        The parameters of a world and of a mission in it.

    Raises
    ------
    InputError
        If there is no such setting, or a key is unknown, of another type or out of range.
    """
    if not isinstance(source, (str, Path)):
        raise InputError(f"a setting is a name or a TOML file, not {source!r}")
    text, where = read_toml(source, **FILES, what="setting")
    return parse_setting(parse_toml(text, where=where), where=where)


def parse_setting(data: dict[str, Any], *, where: str = "setting") -> Setting:
    """Return the setting in plain data, without the sections that are not part of it.

    The first fault raises an `InputError` that names its key.
    """
    data = {key: value for key, value in data.items() if key not in OTHER_SECTIONS}
    if "world" not in data:
        raise InputError(f"{where}: missing key 'world'")
    name = data["world"]
    known = list_names("worlds")
    if not isinstance(name, str) or (name not in known and ":" not in name):
        raise InputError(
            f"{where}: 'world' must be one of {', '.join(known)} or file.py:function, not {name!r}"
        )
    if name in NEEDED:
        require_extra(NEEDED[name], f'{where}: world "{name}"')
    try:
        setting = setting_type(name).model_validate(data)
    except ValidationError as error:
        raise InputError(f"{where}: {one_line(error)}") from None
    return setting.beside(Path(where).parent)


def setting_notes(setting: Setting, world: World) -> list[str]:
    """Return remarks on a setting that is valid but may not be what was meant, one line each."""
    notes = setting.notes()
    if world.states * world.horizon <= SEARCHED and not goal_in_reach(world):
        notes.append(f"the goal cannot be reached within {world.horizon} steps, whatever the robot does")
    return notes


def goal_in_reach(world: World) -> bool:
    """Return whether some policy comes to a state of greatest reward with a probability above 0.

    True for worlds whose reward names no goal.
    """
    rewards = world.reward(0).next_state
    if rewards is None or np.ptp(rewards) == 0:
        return True
    reached = (rewards == rewards.max()).astype(float)
    for t in range(world.horizon - 1, -1, -1):
        reached = np.maximum(reached, world.kernel(t).backup(reached, None))
        if reached[world.start] > 0:
            return True
    return False


def with_spending(setting: Setting, **given: Any) -> Setting:
    """Return the setting with these of the keys `SPENDING` in place of its own; None stands for not given."""
    given = {key: value for key, value in given.items() if value is not None}
    if not given:
        return setting
    return parse_setting(replace_spending(setting.model_dump(mode="json", exclude_none=True), given))


def _with_keys(setting: Setting, keys: dict[str, Any]) -> Setting:
    """Return a setting with these keys in place of its own, without its forecast."""
    own = setting.model_dump(mode="json", exclude_none=True, exclude={"forecast"})
    return parse_setting(own | keys, where="the forecast's world")


def replace_spending(data: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a setting with `given` keys; one of `SPENDING` drops all of them that it has."""
    drops = SPENDING if any(key in SPENDING for key in given) else ()
    return {key: value for key, value in data.items() if key not in drops} | given


def make_mission(
    setting: Setting,
    *,
    execution: Execution = "map",
    forecast: Forecast | ForecastParameters | ForecastKind | None = None,
    world: World | None = None,
    ties: str | None = None,
    update_steps: int | Mapping[int, float] | None = None,
    meanwhile: Meanwhile | None = None,
    **spending: Any,
) -> Mission:
    """Make the mission of a setting.

    Parameters
    ----------
    setting : Setting
        The setting, from `load_setting`.
    execution : {"map", "belief"}
        How the robot acts between updates.
    forecast : Forecast, ForecastParameters or str, optional
        What the robot expects, in place of the setting's forecast.
    world : World, optional
        A world in place of the setting's.
    ties : str, optional
        Action taken among tied ones, in place of the setting's: "first", "last" or "random(SEED)".
    update_steps : int or mapping, optional
        Steps that an update takes, or {steps: probability}, in place of the setting's.
    meanwhile : {"go-on", "wait"}, optional
        Acting while an update runs, in place of the setting's.
    **spending : int or float
        `budget` or `price`, in place of the setting's.

    Returns
    -------
    Mission
        The world, the robot and the way to spend.
    """
    if isinstance(setting, str):
        raise InputError(f"a mission is made of a setting: load_setting({setting!r})")
    require(Setting, setting=setting)
    if world is not None:
        require(World, world=world)
    setting, latency = (
        with_spending(setting, **spending),
        {"update_steps": update_steps, "meanwhile": meanwhile},
    )
    if isinstance(forecast, str):
        if forecast not in get_args(ForecastKind):
            raise InputError(
                f"there is no forecast {forecast!r}{did_you_mean(forecast, get_args(ForecastKind))}"
            )
        forecast = ForecastParameters(kind=forecast)
    world = setting.build() if world is None else world
    forecast = (setting.forecast or Frozen()) if forecast is None else forecast
    if isinstance(forecast, ForecastParameters):
        forecast = forecast.build(world, lambda keys: _with_keys(setting, keys).build())
    robot = Robot(
        planning_horizon=setting.planning_horizon,
        ties=Ties.parse(setting.ties if ties is None else ties),
        execution=execution,
        forecast=forecast,
        **setting.latency | {name: value for name, value in latency.items() if value is not None},
    )
    return Mission(world, robot, setting.spending)
