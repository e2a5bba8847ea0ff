"""Wind tables and NetCDF files with faults in them, and a literal reading of both, for tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import netCDF4
import numpy as np
import pandas
from tests.worlds.field_files import currents

Random = np.random.Generator
Place = tuple[float, float]
HOSTILE = ("1e308", "-1e308", "nan", "inf", "", "NA", "1_000", '"5,5"', "5,5", "0x10", "1e-320", "-7", "5 5")
SIGNS = "0123456789,.;:-+eE_ \t\"'NaTZ\n\r\0é"


def wind_table(rng: Random) -> str:
    """A table of a day, some of its rows without a wind."""
    lines = ["time,speed,direction,remark"]
    for hour in range(24):
        speed = rng.choice([f"{rng.uniform(0, 20):.1f}", "0", "NA"], p=[0.8, 0.1, 0.1])
        direction = rng.choice([f"{rng.integers(361)}", ""], p=[0.9, 0.1])
        end = rng.choice([":00", ":10Z", ":20+02:00"])
        lines.append(f"2020-05-01T{hour:02}{end},{speed},{direction},")
    return "\n".join(lines) + "\n"


def break_table(text: str, rng: Random) -> bytes:
    """The table with one or two faults."""
    for _ in range(rng.integers(1, 3)):
        text = (_change_signs if rng.random() < 0.4 else _change_lines)(text, rng)
    data = text.encode()
    return data[:40] + b"\xff" + data[40:] if rng.random() < 0.02 else data


def _change_signs(text: str, rng: Random) -> str:
    at, sign = int(rng.integers(len(text) + 1)), SIGNS[rng.integers(len(SIGNS))]
    changed = (
        text[:at] + text[at + 1 :],
        text[:at] + sign + text[at:],
        text[:at] + sign + text[at + 1 :],
        text[:at],
        text.replace(",", ";"),
        text.replace(".", ","),
        text.replace("\n", "\r\n"),
    )
    return changed[rng.choice(7, p=[0.25, 0.25, 0.25, 0.1, 0.05, 0.05, 0.05])]


def _change_lines(text: str, rng: Random) -> str:
    lines = text.split("\n")
    line = int(rng.integers(len(lines)))
    fields = lines[line].split(",")
    field = int(rng.integers(len(fields)))
    match rng.integers(5):
        case 0:
            fields[field] = str(rng.choice(HOSTILE))
        case 1:
            fields.insert(field, fields[int(rng.integers(len(fields)))])
        case 2:
            del fields[field]
        case 3:
            fields = [each.replace(".", ",") for each in fields]
        case 4:
            lines.insert(int(rng.integers(len(lines))), lines[line])
    lines[line] = ",".join(fields)
    return "\n".join(lines)


def winds_of(path: Path) -> dict[float, tuple[float, float]]:
    """Seconds since 1970 -> wind to the east and to the north, as pandas and complex numbers have it."""
    found = {}
    rows = pandas.read_csv(path, dtype=str, keep_default_na=False, index_col=False, encoding="utf-8-sig")
    for _, row in rows.iterrows():
        speed, direction = row["speed"].strip(), row["direction"].strip()
        calm = speed.lower() not in ("", "na", "nan") and float(speed) == 0
        if not calm and ({speed.lower(), direction.lower()} & {"", "na", "nan"}):
            continue
        time = pandas.Timestamp(row["time"].strip())
        time = time if time.tz else time.tz_localize("UTC")
        towards = float(speed) * np.exp(-1j * np.deg2rad(0 if calm else float(direction)) - 0.5j * np.pi)
        found[time.timestamp()] = (towards.real, towards.imag)
    return found


def write_field(path: Path, rng: Random) -> None:
    """A field in a NetCDF file of one of three formats."""
    form = str(rng.choice(["NETCDF3_CLASSIC", "NETCDF3_64BIT", "NETCDF4"]))
    packed = {"dtype": "int16", "scale_factor": 1 / 1024, "add_offset": 0.5, "_FillValue": -32768}
    encoding = {"a": packed, "b": packed} if rng.random() < 0.5 else {}
    currents().to_netcdf(path, format=form, encoding=encoding)


def break_field(path: Path, rng: Random) -> None:
    """Break the file: its bytes, or its variables and what is said about them."""
    if rng.random() < 0.5:
        data = bytearray(path.read_bytes())
        for at in rng.integers(len(data), size=rng.integers(1, 4)):
            data[at] = rng.integers(256)
        path.write_bytes(data if rng.random() < 0.9 else data[: rng.integers(len(data))])
        return
    with netCDF4.Dataset(path, "a") as file:
        for _ in range(rng.integers(1, 4)):
            BREAKS[rng.integers(len(BREAKS))](file, rng)
        if rng.random() < 0.05:
            name = str(rng.choice(list(file.variables)))
            file.renameVariable(name, str(rng.choice(["u", "time2", "x"])))


def _break_coordinate(file: netCDF4.Dataset, rng: Random) -> None:
    axis = file[str(rng.choice(["time", "lat", "lon"]))]
    axis.set_auto_maskandscale(False)
    at, value = int(rng.integers(len(axis))), rng.choice([0.0, 7.0, -1e6, 1e300, np.nan, np.inf])
    axis[at] = value if axis.dtype.kind == "f" else int(np.nan_to_num(value, posinf=2**31 - 1) % 2**31)


def _miss_times(file: netCDF4.Dataset, rng: Random) -> None:
    time = file["time"]
    time.set_auto_maskandscale(False)
    time.missing_value = time.dtype.type(9999)
    time[int(rng.integers(len(time)))] = 9999


def _break_velocity(file: netCDF4.Dataset, rng: Random) -> None:
    part = file[str(rng.choice(["a", "b"]))]
    part.set_auto_maskandscale(False)
    value = rng.choice([0.0, 999.0, 1e30, np.nan])
    t = slice(None) if rng.random() < 0.3 else int(rng.integers(part.shape[0]))
    part[t, int(rng.integers(part.shape[1]))] = value if part.dtype.kind == "f" else -32768


def _break_words(file: netCDF4.Dataset, rng: Random) -> None:
    changed = {
        "a": {"units": ["cm s-1", "furlongs", "", "M/S"], "standard_name": ["sst", "northward_wind"]},
        "lat": {"units": ["m", "degrees_north", "moons"]},
        "time": {
            "units": ["hours since 1583-01-01", "hours since then", "days since 2020-03-01", "hours"],
            "calendar": ["noleap", "standard", "martian"],
        },
    }
    name = str(rng.choice(list(changed)))
    key = str(rng.choice(list(changed[name])))
    file[name].setncattr(key, str(rng.choice(changed[name][key])))


def _break_scale(file: netCDF4.Dataset, rng: Random) -> None:
    part = file[str(rng.choice(["a", "b"]))]
    key = str(rng.choice(["scale_factor", "add_offset"]))
    value = rng.choice([0.0, -1.0, 0.01, 1e308, np.nan])
    part.setncattr(key, value)


BREAKS: list[Callable[[netCDF4.Dataset, Random], None]] = [
    _break_coordinate, _miss_times, _break_velocity, _break_words, _break_scale,
]  # fmt: skip


def velocities_of(path: Path) -> dict[tuple[float, Place], Place | None]:
    """(Seconds since 1970, (latitude, longitude)) -> m/s to the east and to the north; None: missing."""
    with netCDF4.Dataset(path) as file:
        parts = []
        for towards in ("eastward", "northward"):
            (part,) = (
                each
                for each in file.variables.values()
                if str(getattr(each, "standard_name", "")).startswith(towards)
            )
            factor = {"m s-1": 1.0, "m/s": 1.0, "cm s-1": 0.01}[part.units.strip().lower()]
            parts.append(factor * np.ma.filled(np.ma.asarray(part[:], dtype=float), np.nan))
        time = file["time"]
        hours = {"hours": 3600.0, "days": 86_400.0}[time.units.split()[0]]
        start = pandas.Timestamp(time.units.split(" since ")[1], tz="UTC").timestamp()
        seconds = start + hours * np.ma.filled(np.ma.asarray(time[:], dtype=float), np.nan)
        lat, lon = (
            np.ma.filled(np.ma.asarray(file[name][:], dtype=float), np.nan) for name in ("lat", "lon")
        )
    return {
        (seconds[t], (lat[i].round(9), lon[j].round(9))): (
            (parts[0][t, i, j], parts[1][t, i, j])
            if np.isfinite([parts[0][t, i, j], parts[1][t, i, j]]).all()
            else None
        )
        for t in range(len(seconds))
        for i in range(len(lat))
        for j in range(len(lon))
    }
