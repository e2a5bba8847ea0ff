"""Vector fields from NetCDF files and Zarr stores, read with xarray."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from replan.errors import InputError, require_extra
from replan.worlds.cf_dataset import (
    DIRECTIONS,
    UNREADABLE,
    axis_of,
    decoded,
    first_line,
    to_field,
    velocity_variable,
)
from replan.worlds.vector_field import VectorField

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
