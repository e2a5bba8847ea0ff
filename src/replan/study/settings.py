"""Settings: a TOML file, or the name of a built-in one, checked key by key and turned into a mission."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.planning.ties import Ties
from replan.skip.propagation import Execution
from replan.study.world_settings import TAGS, ArraysSetting, PiecewiseDrift, RoverSetting, Setting

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
_ADAPTER: TypeAdapter[Setting] = TypeAdapter(Annotated[Setting, Field(discriminator="world")])


def builtin_settings() -> list[str]:
    """The names of the settings that come with replan, the paper's first."""
    folder = resources.files("replan.worlds") / "settings"
    names = {Path(file.name).stem for file in folder.iterdir() if file.name.endswith(".toml")}
    return [*PAPER_SETTINGS, *sorted(names - set(PAPER_SETTINGS))]


def load_setting(source: str | Path) -> Setting:
    """From the path of a TOML file, or the name of a built-in setting."""
    text, where = _read(source)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: not valid TOML: {error}") from None
    return parse_setting(data, where=where)


def parse_setting(data: dict[str, Any], *, where: str = "setting") -> Setting:
    """From plain data; the first fault is named with its key. A section [screen] is the explorer's own."""
    data = {key: value for key, value in data.items() if key != "screen"}
    try:
        setting = _ADAPTER.validate_python(data)
    except ValidationError as error:
        raise InputError(f"{where}: {one_line(error)}") from None
    if isinstance(setting, ArraysSetting):
        beside = Path(where).parent / setting.file
        if beside.exists():
            setting = setting.model_copy(update={"file": str(beside)})
    return setting


def make_mission(setting: Setting, *, execution: Execution = "map", budget: int | None = None) -> Mission:
    """The mission that a setting describes."""
    return Mission(
        world=setting.build(),
        budget=setting.budget if budget is None else budget,
        planning_horizon=setting.planning_horizon,
        ties=Ties.parse(setting.ties),
        execution=execution,
    )


def one_line(error: ValidationError) -> str:
    """The first fault that pydantic found, as one line that names the key."""
    fault: Any = error.errors(include_url=False)[0]
    place = list(fault["loc"])
    path = [part for k, part in enumerate(place) if part not in TAGS or (k > 0 and part == place[k - 1])]
    key = ".".join(str(part) for part in path)
    kind, value = fault["type"], fault.get("input")
    if kind == "extra_forbidden":
        return f"unknown key {key!r}"
    if kind == "missing":
        return f"missing key {key!r}"
    if kind == "union_tag_not_found":
        return f"missing key {'.'.join([*map(str, path), _discriminator(fault)])!r}"
    if kind == "union_tag_invalid":
        named = ".".join([*map(str, path), _discriminator(fault)])
        return f"{named!r} must be one of {fault['ctx']['expected_tags']}, not {fault['ctx']['tag']!r}"
    said = fault["msg"].rstrip(".")
    for word in ("Value error, ", "Input ", "List ", f"{path[-1]} " if path else ""):
        said = said.removeprefix(word)
    told = ", not " in said or (kind == "value_error" and isinstance(value, (dict, list)))
    shown = "" if told else f", not {value!r}"
    return f"{key!r} {said}{shown}" if key else said


def _discriminator(fault: Any) -> str:
    return str(fault["ctx"]["discriminator"]).strip("'")


def _read(source: str | Path) -> tuple[str, str]:
    name = str(source)
    if name in builtin_settings():
        return (resources.files("replan.worlds") / "settings" / f"{name}.toml").read_text(), name
    path = Path(source)
    if path.suffix != ".toml" and not path.exists():
        known = ", ".join(builtin_settings())
        raise InputError(f"{name!r} is neither a TOML file nor a built-in setting ({known})")
    try:
        return path.read_text(), name
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


__all__ = [
    "PAPER_SETTINGS",
    "ArraysSetting",
    "PiecewiseDrift",
    "RoverSetting",
    "Setting",
    "builtin_settings",
    "load_setting",
    "make_mission",
    "one_line",
    "parse_setting",
]
