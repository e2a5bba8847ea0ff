"""The worlds in which a plan goes stale, and three settings for each as small TOML files.

A setting names its world, the horizon, the planning horizon and the budget; what is special to the world
stands in a section of its own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from replan.errors import InputError
from replan.model import TVMDP
from replan.worlds import crosswind, terrain, thin_ice

WORLDS: dict[str, Callable[..., TVMDP]] = {
    "thin-ice": thin_ice.build,
    "crosswind": crosswind.build,
    "terrain": terrain.build,
}
SECTIONS = {"thin-ice": "ice", "crosswind": "wind", "terrain": "terrain"}  # world -> its section of a setting
DEGREES = ("mild", "medium", "hard")
SETTINGS = tuple(f"{world}-{degree}" for world in WORLDS for degree in DEGREES)


def built_in_setting(name: str) -> dict[str, Any]:
    """The setting of that name as it stands in its file."""
    if name not in SETTINGS:
        raise InputError(f"no built-in setting {name!r}; there are {', '.join(SETTINGS)}")
    return tomllib.loads((Path(__file__).parent / "settings" / f"{name}.toml").read_text())


def build_world(setting: Mapping[str, Any]) -> TVMDP:
    """The world of a setting."""
    world = setting.get("world")
    if world not in WORLDS:
        raise InputError(f"world must be one of {', '.join(WORLDS)}, not {world!r}")
    shape = {key: setting[key] for key in ("n", "horizon") if key in setting}
    try:
        return WORLDS[world](**shape, **setting.get(SECTIONS[world], {}))
    except TypeError as error:
        raise InputError(f"{world}: {error}") from None
