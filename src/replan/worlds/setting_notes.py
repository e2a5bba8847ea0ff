"""Remarks on a setting that is valid but may not be what was meant, one line each."""

from __future__ import annotations

import numpy as np

from replan.model.world import World
from replan.worlds.mars_rover import ClippedDrift
from replan.worlds.settings import RoverSetting, Setting

SEARCHED = 20_000_000
"""States times steps up to which the goal is looked for."""


def setting_notes(setting: Setting, world: World) -> list[str]:
    """Return one line for drift that is clipped, and one for a goal that no policy can reach in time."""
    notes = []
    if isinstance(setting, RoverSetting) and isinstance(setting.drift, ClippedDrift):
        low, high = setting.drift.limits
        if clipped := setting.drift.clipped_times(setting.horizon):
            notes.append(
                f"the slip is held between {low:g} and {high:g}: the drift would leave that range "
                f"at {len(clipped)} of {setting.horizon} steps, first at t = {clipped[0]}"
            )
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
