"""Occupancy maps as a ROS map server keeps them: a YAML file and the PGM image that it names."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.typing import Array

UNKNOWN = -1
OCCUPIED = 100
_MODES = ("trinary", "scale", "raw")
_NEEDED = ("image", "resolution", "origin")


@dataclass(frozen=True)
class OccupancyMap:
    """Occupancy in percent, and the position of the map."""

    occupancy: np.ndarray = field(repr=False)
    """(height, width) 0 to 100, -1 where it is unknown; row 0 is at the origin."""
    resolution: float
    """Side of a pixel in metres."""
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """x and y in metres and yaw of the outer corner of the first pixel."""

    def __post_init__(self) -> None:
        if self.occupancy.ndim != 2 or not self.occupancy.size:
            raise InputError(f"a map has rows and columns, not the shape {self.occupancy.shape}")
        if not (np.isfinite(self.resolution) and self.resolution > 0):
            raise InputError(f"the resolution of a map must be positive, not {self.resolution}")
        if len(self.origin) != 3 or not np.isfinite(self.origin).all():
            raise InputError(f"the origin of a map is x, y and yaw, not {list(self.origin)}")

    @classmethod
    def from_grid(
        cls,
        data: ArrayLike,
        *,
        width: int,
        height: int,
        resolution: float,
        origin: tuple[float, float, float],
    ) -> OccupancyMap:
        """Return the map in the fields of a `nav_msgs/OccupancyGrid`."""
        occupancy = np.asarray(data, dtype=np.int8)
        if occupancy.size != width * height:
            raise InputError(f"a grid of {width} x {height} has {occupancy.size} cells")
        return cls(occupancy.reshape(height, width), float(resolution), origin)


def read_map(path: str | Path) -> OccupancyMap:
    """Read a map in the form of a map server: a YAML file, and the PGM image that it names.

    Parameters
    ----------
    path : str or Path
        The YAML file.

    Returns
    -------
    OccupancyMap
        The map.

    Raises
    ------
    InputError
        If a file cannot be read, or a key is missing or wrong.
    """
    path = Path(path)
    keys = _read_yaml(path)
    for name in _NEEDED:
        if name not in keys:
            raise InputError(f"{path}: missing key {name!r}")
    mode = keys.get("mode", "trinary")
    if mode not in _MODES:
        raise InputError(f"{path}: 'mode' must be one of {', '.join(_MODES)}, not {mode!r}")
    image = read_pgm(path.parent / str(keys["image"]))
    negate = _truth(path, keys.get("negate", 0))
    free, occupied = (
        _number(path, name, keys.get(name, default))
        for name, default in (("free_thresh", 0.25), ("occupied_thresh", 0.65))
    )
    origin = keys["origin"]
    if not isinstance(origin, list) or len(origin) != 3:
        raise InputError(f"{path}: 'origin' must be [x, y, yaw], not {origin!r}")
    x, y, yaw = (_number(path, "origin", part) for part in origin)
    return OccupancyMap(
        _occupancy(image, mode, negate, free, occupied)[::-1],
        _number(path, "resolution", keys["resolution"]),
        (x, y, yaw),
    )


def read_pgm(path: str | Path) -> Array:
    """(height, width) shades of a PGM image from 0 (black) to 1 (white), top row first."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    kind, rest = data[:2], data[2:]
    if kind not in (b"P5", b"P2"):
        raise InputError(f"{path}: not a PGM image (it begins with {data[:4]!r}); convert it to PGM")
    try:
        (width, height, white), start = _pgm_header(rest)
        if kind == b"P2":
            shades = np.array(rest[start:].split(), dtype=float)
        else:
            shades = np.frombuffer(rest, dtype=">u2" if white > 255 else "u1", offset=start).astype(float)
        return shades[: width * height].reshape(height, width) / white
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{path}: a PGM image that is damaged or cut short") from None


def _pgm_header(data: bytes) -> tuple[list[int], int]:
    """Return width, height and greatest shade, and the offset of the shades."""
    numbers: list[int] = []
    at = 0
    while len(numbers) < 3:
        while data[at : at + 1].isspace():
            at += 1
        end = at
        while end < len(data) and not data[end : end + 1].isspace():
            end += 1
        if data[at : at + 1] == b"#":
            at = data.index(b"\n", at)
            continue
        numbers.append(int(data[at:end]))
        at = end
    if min(numbers) < 1:
        raise ValueError
    return numbers, at + 1


def _occupancy(image: Array, mode: str, negate: bool, free: float, occupied: float) -> np.ndarray:
    """(height, width) percent by the map server's three modes."""
    if mode == "raw":
        shades = np.round(image * 255)
        return np.where(shades <= OCCUPIED, shades, UNKNOWN).astype(np.int8)
    dark = image if negate else 1 - image
    between = np.full(image.shape, UNKNOWN)
    if mode == "scale":
        between = np.round(99 * (dark - free) / max(occupied - free, 1e-9)).astype(int)
    return np.where(dark > occupied, OCCUPIED, np.where(dark < free, 0, between)).astype(np.int8)


def _read_yaml(path: Path) -> dict[str, Any]:
    """Return the keys of the flat YAML that map servers write: scalars, [a, b, c], or a block of items."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    keys: dict[str, Any] = {}
    last = None
    for number, line in enumerate(lines, 1):
        text = line.split("#", 1)[0].strip()
        if not text or text == "---":
            continue
        if text.startswith("- ") and last is not None and isinstance(keys[last] or [], list):
            keys[last] = [*(keys[last] or []), text[2:].strip()]
            continue
        name, colon, value = text.partition(":")
        if not colon:
            raise InputError(f"{path}: line {number} is not 'key: value'")
        last, value = name.strip(), value.strip().strip("'\"")
        bracketed = value.startswith("[") and value.endswith("]")
        keys[last] = [part.strip() for part in value[1:-1].split(",")] if bracketed else value
    return keys


def _number(path: Path, name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{path}: {name!r} must be a number, not {value!r}") from None


def _truth(path: Path, value: Any) -> bool:
    words = {"0": False, "false": False, "1": True, "true": True}
    if str(value).lower() not in words:
        raise InputError(f"{path}: 'negate' must be 0 or 1, not {value!r}")
    return words[str(value).lower()]
