"""A hall with a wall, its map, a setting on it and a path around the wall."""

import tomllib

import numpy as np
import pytest

from replan.worlds.cell_map import CellMap
from replan.worlds.map_file import OccupancyMap
from replan.worlds.settings import parse_setting

TEXT = """
world = "map"
cell = 0.5
speed = 0.5
planning_horizon = 8
budget = 4
[drift]
kind = "linear"
slip = 0.05
rate = 0.01
"""
SETTING = tomllib.loads(TEXT)
AWAY = [(1.25, 1.25), (1.25, 9.25), (8.75, 9.25), (8.75, 1.25)]


def hall():
    """10 m x 10 m with a wall at x = 5 m that leaves a passage at the top."""
    pixels = np.zeros((100, 100), dtype=np.int8)
    pixels[:80, 50] = 100
    return OccupancyMap(pixels, 0.1)


@pytest.fixture
def setting():
    return parse_setting(SETTING)


@pytest.fixture
def cells():
    return CellMap.cut(hall(), cell=0.5)
