"""The names under which Gymnasium finds the worlds."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import gymnasium

from replan.environments.whole_number import whole_number
from replan.environments.world_environment import WorldEnvironment
from replan.errors import InputError
from replan.model import TVMDP, piecewise
from replan.worlds import terrain
from replan.worlds.built_in import built_in_setting
from replan.worlds.rover import Cell, rover

BUILDERS = {  # id -> module:function, whose keyword arguments are those of gymnasium.make
    "replan/Rover-v0": "replan.environments.registration:default_rover",
    "replan/ThinIce-v0": "replan.worlds.thin_ice:build",
    "replan/Crosswind-v0": "replan.worlds.crosswind:build",
    "replan/Terrain-v0": "replan.environments.registration:default_terrain",
}


LEAST = {  # options that are whole numbers, and the least they may be
    "n": 1,
    "horizon": 2,
    "lakes": 1,
    "lake_length": 1,
    "lake_height": 1,
    "turn_steps": 1,
    "melt_steps": 1,
    "swept": 1,
    "ice_width": 1,
}


def register_environments() -> None:
    """Make `gymnasium.make` know the ids; done once, however often it is called."""
    for name, builder in BUILDERS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point="replan.environments.registration:make_environment",
                kwargs={"builder": builder},
            )


def make_environment(*, builder: str, render_mode: str | None = None, **options: Any) -> WorldEnvironment:
    """The environment of the world that `builder` makes of the options."""
    for name, least in LEAST.items():
        if name in options:
            options[name] = whole_number(name, options[name], least=least)
    module, _, function = builder.partition(":")
    try:
        world = getattr(import_module(module), function)(**options)
    except InputError:
        raise
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"{module}: {error}") from None
    return WorldEnvironment(world, render_mode=render_mode)


def default_rover(
    *, n: int = 12, horizon: int = 50, slip: list[float] | None = None, obstacles: list[Cell] | None = None
) -> TVMDP:
    """The paper's rover; without a slip of one's own, under the drift of the setting `two-burst`."""
    if slip is None:
        bursts = [(0.20, 0.34, 0.018), (0.62, 0.82, 0.018)]
        return rover(n, piecewise(horizon, slip=0.03, quiet=0.001, bursts=bursts), obstacles=obstacles or ())
    return rover(n, slip, obstacles=obstacles or ())


def default_terrain(**options: Any) -> TVMDP:
    """The terrain of the setting `terrain-hard`; options of `replan.worlds.terrain.build` change it."""
    return terrain.build(**{**built_in_setting("terrain-hard")["terrain"], **options})
