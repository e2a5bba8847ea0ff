"""Worlds to run in."""

from replan.worlds.built_in import SETTINGS, WORLDS, build_world, built_in_setting
from replan.worlds.rover import rover

__all__ = ["SETTINGS", "WORLDS", "build_world", "built_in_setting", "rover"]
