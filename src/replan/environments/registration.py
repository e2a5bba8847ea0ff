"""Registration of the worlds with Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from replan.environments.world_environment import WorldEnvironment
from replan.errors import InputError
from replan.model import World
from replan.suite import suite_world, suite_worlds
from replan.suite.catalogue import FIRST_SEED, VERSION
from replan.worlds import rover
from replan.worlds.mars_rover import Rover
from replan.worlds.parameters import Parameters
from replan.worlds.settings import Setting, load_setting, parse_setting

SETTINGS = {  # environment -> the setting that `gymnasium.make` starts from
    "replan/Rover-v0": "two-burst",
    "replan/ThinIce-v0": "thin-ice-hard",
    "replan/Crosswind-v0": "crosswind-hard",
    "replan/Terrain-v0": "terrain-hard",
}


def register_environments() -> None:
    """Register the environments with Gymnasium; further calls change nothing.

    The worlds of the benchmark's suite are registered by name, as `replan/rover-sines-1003-v1`, with the
    number of their steps.
    """
    for name, setting in SETTINGS.items():
        _register(name, "make_environment", setting=setting)
    for part in FIRST_SEED:
        for world in suite_worlds(part):
            name = f"replan/{world.name}-{VERSION}"
            _register(name, "make_suite_environment", world.setting.horizon, world=world.name)


def _register(name: str, maker: str, steps: int | None = None, **options: Any) -> None:
    if name not in gymnasium.registry:
        entry_point = f"{__name__}:{maker}"
        gymnasium.register(id=name, entry_point=entry_point, max_episode_steps=steps, kwargs=options)


def make_suite_environment(*, world: str, render_mode: str | None = None) -> WorldEnvironment:
    """Return the environment of a world of the suite, which has no options."""
    return WorldEnvironment(suite_world(world).setting.build(), render_mode=render_mode)


def make_environment(*, setting: str, render_mode: str | None = None, **options: Any) -> WorldEnvironment:
    """Return the environment of a setting.

    Parameters
    ----------
    setting : name of a built-in setting, or the path of a TOML file
    render_mode : "ansi", "rgb_array" for grids, or None
    options : parameters of the world to change. The `slip` of a rover may be a list, one for each step.
    """
    base = load_setting(setting)
    given = {name: _plain(value) for name, value in options.items()}
    return WorldEnvironment(_build(base, given), render_mode=render_mode)


def _build(base: Setting, options: dict[str, Any]) -> World:
    """Return the world of the setting with other parameters, those of its section included."""
    slips = options.pop("slip") if isinstance(options.get("slip"), list) else None
    record = base.model_dump(mode="json", exclude_none=True)
    for name, section in base:
        if isinstance(section, Parameters):
            own = type(section).model_fields.keys() & options.keys()
            record[name] |= {key: options.pop(key) for key in own}
    setting = parse_setting(record | options, where=base.world)
    if slips is None:
        return setting.build()
    if not isinstance(setting, Rover):
        raise InputError(f"{setting.world}: 'slip' must be a number, not {slips}")
    try:
        return rover(setting.n, slips, obstacles=[(cell[0], cell[1]) for cell in setting.obstacles])
    except (TypeError, ValueError) as error:
        raise InputError(f"rover: slip: {error}") from None


def _plain(value: Any) -> Any:
    """Return NumPy's numbers and arrays, and tuples, as numbers and lists."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value
