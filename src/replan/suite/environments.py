"""The worlds of the suite as Gymnasium environments (extra `gym`); importing this module registers them.

    import gymnasium, replan.suite.environments
    env = gymnasium.make("replan/rover-sines-1003-v1")

The number of their steps is that of the world.
"""

from __future__ import annotations

import gymnasium

from replan.environments import WorldEnvironment
from replan.suite.catalogue import FIRST_SEED, suite_world, suite_worlds


def make_suite_environment(*, world: str, render_mode: str | None = None) -> WorldEnvironment:
    """Return the environment of a world of the suite, which has no options."""
    return WorldEnvironment(suite_world(world).setting.build(), render_mode=render_mode)


for _part in FIRST_SEED:
    for _world in suite_worlds(_part):
        gymnasium.register(
            id=f"replan/{_world.name}-{_world.since}",
            entry_point=f"{__name__}:make_suite_environment",
            max_episode_steps=_world.setting.horizon,
            kwargs={"world": _world.name},
        )
