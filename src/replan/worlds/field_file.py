"""Vector fields from NetCDF files, Zarr stores and xarray datasets.

Datasets follow the CF conventions, or nearly do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from replan.errors import InputError, require_extra
from replan.typing import Array
from replan.worlds.vector_field import VectorField

FASTEST = 150.0
"""Speed in m/s beyond which a value is a fill value that nobody declared."""
LATEST = 253_402_300_800.0
"""Seconds from 1970 to the end of the year 9999."""
FULL_CIRCLE, FARTHEST = 360.0, 1e12
"""Degrees and metres of a coordinate, either way."""
M_PER_S = {"m s-1": 1.0, "m/s": 1.0, "m s^-1": 1.0, "m s**-1": 1.0, "m.s-1": 1.0, "meters per second": 1.0}
M_PER_S |= {"metres per second": 1.0, "meter second-1": 1.0, "m sec-1": 1.0, "m/sec": 1.0}
M_PER_S |= {"cm s-1": 0.01, "cm/s": 0.01, "km/h": 1 / 3.6, "km h-1": 1 / 3.6}
M_PER_S |= {"knot": 0.514444, "knots": 0.514444, "kt": 0.514444}
METRES = {"": 1.0, "m": 1.0, "metre": 1.0, "metres": 1.0, "meter": 1.0, "meters": 1.0, "km": 1000.0}
DIRECTIONS = {"east": ("eastward", ("u", "uo", "u10")), "north": ("northward", ("v", "vo", "v10"))}
"""The beginnings of standard names of velocities, and usual names of their variables."""
AXES = {
    "time": ("T", ("time",), ("time", "t")),
    "y": ("Y", ("latitude", "projection_y_coordinate"), ("lat", "latitude", "y")),
    "x": ("X", ("longitude", "projection_x_coordinate"), ("lon", "longitude", "x")),
}
"""`axis` attribute, standard names and usual names of each axis."""
UNREADABLE = (
    *(OSError, RuntimeError, ValueError, KeyError, TypeError, IndexError, ImportError, EOFError),
    OverflowError,
)


def to_field(
    dataset: Any, *, name: str = "dataset", east: str | None = None, north: str | None = None, level: int = 0
) -> VectorField:
    """Return the field of an xarray `Dataset`; its axes may have any order and direction."""
    dataset = decoded(dataset, name)
    components, axes = [], {}
    for direction, variable in (("east", east), ("north", north)):
        found = velocity_variable(dataset, name, direction, variable)
        if found is None:
            raise InputError(f"{name}: no {DIRECTIONS[direction][0]} velocity: name one with {direction!r}")
        own = {axis: axis_of(found, name, axis) for axis in AXES}
        if axes and own != axes:
            raise InputError(f"{name}: the velocities to the east and to the north have different axes")
        axes = own
        components.append(_component(found, name, list(axes.values()), level))
    x, y = (dataset[axes[axis]] for axis in ("x", "y"))
    degrees = _is_degrees(x, "lon")
    if degrees != _is_degrees(y, "lat"):
        raise InputError(f"{name}: one axis is in degrees and the other is not")
    values = np.stack(components, axis=-1)
    coordinates = [_seconds(dataset[axes["time"]], name), *(_numbers(axis, name, degrees) for axis in (y, x))]
    if degrees:
        coordinates[2] = _unwrapped(coordinates[2])
    for k, axis in enumerate(axes.values()):
        order = np.argsort(coordinates[k])
        values, coordinates[k] = np.take(values, order, axis=k), coordinates[k][order]
        if len(order) < 2:
            raise InputError(f"{name}: {axis!r} has {len(order)} values; two are needed at least")
        if (np.diff(coordinates[k]) <= 0).any():
            raise InputError(f"{name}: {axis!r} has the same value twice")
    return _masked(name, coordinates, values, degrees)


def decoded(dataset: Any, name: str) -> Any:
    """Return the dataset with decoded times; `Unit` is taken for `units`."""
    import xarray

    if not isinstance(dataset, xarray.Dataset):
        raise InputError(f"{name}: must be an xarray Dataset, not {type(dataset).__name__}")
    renamed = dataset.copy()
    for variable in renamed.variables.values():
        for key in ("Unit", "Units", "unit"):
            if key in variable.attrs and "units" not in variable.attrs:
                variable.attrs["units"] = variable.attrs[key]
    try:
        coder = xarray.coders.CFDatetimeCoder(time_unit="us")  # nanoseconds overflow in silence
        return xarray.decode_cf(renamed, decode_times=coder)
    except UNREADABLE as error:
        raise InputError(f"{name}: its times cannot be read ({first_line(error)})") from None


def velocity_variable(dataset: Any, name: str, direction: str, named: str | None) -> Any:
    """Return the variable of a component, None if there is none."""
    if named is not None:
        if named not in dataset.data_vars:
            raise InputError(
                f"{name}: no variable {named!r} (there are {', '.join(map(str, dataset.data_vars))})"
            )
        return dataset[named]
    begins, usual = DIRECTIONS[direction]
    tests = (
        lambda key, attributes: str(attributes.get("standard_name", "")).startswith(begins),
        lambda key, attributes: key.lower().startswith(begins),
        lambda key, attributes: key.lower() in usual,
    )
    for test in tests:
        found = [key for key, each in dataset.data_vars.items() if test(str(key), each.attrs)]
        if len(found) > 1:
            raise InputError(f"{name}: {' and '.join(map(repr, found))}: name one with {direction!r}")
        if found:
            return dataset[found[0]]
    return None


def axis_of(variable: Any, name: str, axis: str) -> str:
    """Return the dimension of a variable that is the axis."""
    letter, standard, usual = AXES[axis]
    for dimension in variable.dims:
        attributes = variable[dimension].attrs if dimension in variable.coords else {}
        if attributes.get("standard_name") in standard or attributes.get("axis") == letter:
            return str(dimension)
    for dimension in variable.dims:
        if str(dimension).lower() in usual or (axis == "time" and _is_time(variable, dimension)):
            if dimension not in variable.coords:
                raise InputError(f"{name}: {variable.name!r} has no values along {dimension!r}")
            return str(dimension)
    shown = ", ".join(map(str, variable.dims))
    raise InputError(f"{name}: {variable.name!r} has no {axis} axis among its axes ({shown})")


def _is_time(variable: Any, dimension: Any) -> bool:
    return dimension in variable.coords and variable[dimension].dtype.kind == "M"


def _component(variable: Any, name: str, order: Iterable[str], level: int) -> Array:
    """(n, Y, X) m/s of a component."""
    order = list(order)
    for other in (dimension for dimension in variable.dims if dimension not in order):
        if not -variable.sizes[other] <= level < variable.sizes[other]:
            raise InputError(f"{name}: {other!r} has {variable.sizes[other]} values, so no level {level}")
        variable = variable.isel({other: level})
    unit = str(variable.attrs.get("units", "m s-1")).strip().lower()
    if unit not in M_PER_S:
        raise InputError(f"{name}: {variable.name!r} is in {unit!r}, not in m s-1")
    if variable.dtype.kind not in "fiu":
        raise InputError(f"{name}: {variable.name!r} is not numbers")
    return M_PER_S[unit] * variable.transpose(*order).values.astype(float)


def _is_degrees(axis: Any, short: str) -> bool:
    named = f"{axis.name} {axis.attrs.get('standard_name', '')}".lower()
    return short in named or str(axis.attrs.get("units", "")).lower().startswith("degree")


def _numbers(axis: Any, name: str, degrees: bool) -> Array:
    """(n,) values of an axis in degrees or metres."""
    unit = str(axis.attrs.get("units", "")).strip().lower()
    if not degrees and unit not in METRES:
        raise InputError(f"{name}: {axis.name!r} is in {unit!r}, neither in degrees nor in m")
    values = axis.values.astype(float) * (1.0 if degrees else METRES[unit])
    if not np.isfinite(values).all():
        raise InputError(f"{name}: {axis.name!r} has missing values")
    farthest = FULL_CIRCLE if degrees else FARTHEST
    if (np.abs(values) > farthest).any():
        raise InputError(f"{name}: {axis.name!r} holds {np.abs(values).max():g}, beyond {farthest:g}")
    return values


def _seconds(axis: Any, name: str) -> Array:
    """(n,) seconds since 1970 of the time axis."""
    if axis.dtype.kind != "M":
        raise InputError(
            f"{name}: {axis.name!r} is not dates and times (units such as 'hours since 2020-01-01')"
        )
    if np.isnat(axis.values).any():
        raise InputError(f"{name}: {axis.name!r} has missing values")
    seconds = (axis.values - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    if (np.abs(seconds) > LATEST).any():
        raise InputError(f"{name}: {axis.name!r} goes beyond the year 9999")
    return seconds


def _unwrapped(longitudes: Array) -> Array:
    """(X,) longitudes without a jump in the region they cover, whose middle is within 180 degrees of 0."""
    if not len(longitudes):
        return longitudes
    wrapped = longitudes % 360
    ordered = np.sort(wrapped)
    gaps = np.diff(np.concatenate([ordered, ordered[:1] + 360]))
    west = ordered[(int(np.argmax(np.round(gaps, 6))) + 1) % len(ordered)]
    whole = gaps.max() < 2 * np.median(gaps)  # all around the globe: any cut will do
    unwrapped = -180 + (wrapped + 180) % 360 if whole else west + (wrapped - west) % 360
    return unwrapped - 360 * np.round((unwrapped.min() + unwrapped.max()) / 720)


def _masked(name: str, coordinates: list[Array], values: Array, degrees: bool) -> VectorField:
    """Return the field of (n, Y, X, 2) values: points with a missing one are land, empty times left out."""
    missing = np.asarray(~np.isfinite(values).all(axis=3))
    used = ~missing.reshape(len(missing), -1).all(axis=1)
    if used.sum() < 2:
        raise InputError(f"{name}: fewer than two times with a velocity")
    times, (y, x), values, missing = coordinates[0][used], coordinates[1:], values[used], missing[used]
    land = np.asarray(missing.any(axis=0))
    if land.all():
        raise InputError(f"{name}: at every point the velocity is missing at some time")
    values = np.where(land[None, :, :, None], 0.0, values)
    if (fastest := float(np.abs(values).max())) > FASTEST:
        raise InputError(f"{name}: a velocity of {fastest:g} m/s: is a fill value not declared?")
    return VectorField(name, times, x, y, values, land, degrees)


def first_line(error: BaseException) -> str:
    """Return the first line of the message of an error of another package."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]


SUFFIXES = (".nc", ".nc4", ".cdf", ".zarr")
"""Ends of the names of files and stores in a folder."""
STORE = ("zarr.json", ".zgroup", ".zmetadata")
"""Files that a folder has if it is a Zarr store."""


def read_field(
    file: str | Path, *, east: str | None = None, north: str | None = None, level: int = 0
) -> VectorField:
    """Read a field from a NetCDF file, a Zarr store, a folder of such files or a pattern.

    `east` and `north` name the variables of the velocity; without them the standard names are looked for.
    `level` is the index along a further axis, such as depth.
    """
    require_extra("field", "a world from a NetCDF or Zarr file")
    paths = _paths(str(file))
    stamps = tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in paths)
    return _read(str(file), stamps, east, north, level)


@lru_cache(maxsize=4)
def _read(
    name: str, stamps: tuple[tuple[str, int, int], ...], east: str | None, north: str | None, level: int
) -> VectorField:
    import xarray

    datasets = [decoded(_open(path), path) for path, *_ in stamps]
    if len(datasets) > 1:
        named = {"east": east, "north": north}
        parts = [_joined(datasets, name, direction, named[direction]) for direction in DIRECTIONS]
        try:
            datasets = [xarray.merge([part for part in parts if part is not None], join="exact")]
        except UNREADABLE as error:
            raise InputError(f"{name}: the files do not fit together ({first_line(error)})") from None
    return to_field(datasets[0], name=name, east=east, north=north, level=level)


def _joined(datasets: Sequence[Any], name: str, direction: str, named: str | None) -> Any:
    """Return the variable of a component, joined along time from all files that have it; None: no file."""
    import xarray

    found = [
        velocity_variable(each, name, direction, named) for each in datasets if named is None or named in each
    ]
    pieces = [piece for piece in found if piece is not None]
    if len(pieces) < 2:
        return pieces[0] if pieces else None
    along = axis_of(pieces[0], name, "time")
    try:
        return xarray.concat(
            pieces, along, join="exact", coords="minimal", compat="override", combine_attrs="override"
        )
    except UNREADABLE as error:
        raise InputError(f"{name}: the files do not fit together ({first_line(error)})") from None


def matching(pattern: str | Path) -> list[Path]:
    """Return the files and folders of a path or pattern, sorted."""
    path = Path(pattern)
    if path.exists():
        return [path]
    fixed = next((k for k, part in enumerate(path.parts) if set(part) & set("*?[")), None)
    if fixed is None:
        return []
    return sorted(Path(*path.parts[:fixed]).glob(str(Path(*path.parts[fixed:]))))


def _paths(file: str) -> list[Path]:
    """Return the files and Zarr stores of a path or pattern."""
    path = Path(file)
    folder = path.is_dir() and not _is_store(path)
    found = [each for each in path.iterdir() if each.suffix in SUFFIXES] if folder else matching(path)
    if not found:
        raise InputError(f"{file}: {'no NetCDF file or Zarr store in it' if folder else 'no such file'}")
    return sorted(found)


def _is_store(folder: Path) -> bool:
    return any((folder / name).exists() for name in STORE)


def _open(path: str) -> Any:
    """Return the dataset of a file or store, times not yet decoded."""
    import xarray

    if Path(path).is_dir() and find_spec("zarr") is None:
        raise InputError(f"{path}: a Zarr store needs the package zarr: pip install zarr")
    options = {"engine": "zarr", "consolidated": False} if Path(path).is_dir() else {}
    try:
        with xarray.open_dataset(path, decode_times=False, **options) as dataset:
            return dataset.load()
    except UNREADABLE as error:
        raise InputError(f"{path}: cannot be read ({first_line(error)})") from None
