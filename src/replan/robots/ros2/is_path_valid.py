"""Nav2's service IsPathValid in its three wire shapes (extra `ros`).

All three go by one type name, so a server that expects another shape than the client sends can misread it
without noticing. `shape_of` tells the shape of a request from its bytes, and `TYPE_HASHES` from the hash that
ROS 2 Jazzy and later attach to an endpoint.
"""

import struct
from dataclasses import dataclass, field
from typing import Literal

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64, int32, int64, sequence, uint8, uint64

from replan.robots.ros2.messages import Path, empty, wire_name

Nav2 = Literal["1.3", "1.4", "1.5"]

#: The RIHS01 hash of `nav2_msgs/srv/IsPathValid_Request` in each version.
TYPE_HASHES: dict[str, Nav2] = {
    "RIHS01_2581491c3b0e2c7caf695a54ae0f7006e420c495abd5b0355d2e79b5b2168888": "1.3",
    "RIHS01_9772a741cdb6800ec3216d3e337984f847572d394b15e1b8a373cdbe9ffa785c": "1.4",
    "RIHS01_b3f3b2f615b36aa25e1de624a83c765b2e37dbc37f0382e49b6179be179f0e51": "1.5",
}

_REQUEST = wire_name("nav2_msgs/srv/IsPathValid_Request")
_RESPONSE = wire_name("nav2_msgs/srv/IsPathValid_Response")


@dataclass
class Request13(IdlStruct, typename=_REQUEST):
    """Nav2 1.1 to 1.3 (Humble to Jazzy)."""

    guid: uint64 = 0
    seq: int64 = 0
    path: Path = field(default_factory=Path)


@dataclass
class Request14(IdlStruct, typename=_REQUEST):
    """Nav2 1.4 (Kilted)."""

    guid: uint64 = 0
    seq: int64 = 0
    path: Path = field(default_factory=Path)
    max_cost: uint8 = 254
    consider_unknown_as_obstacle: bool = False


@dataclass
class Request15(IdlStruct, typename=_REQUEST):
    """Nav2 1.5."""

    guid: uint64 = 0
    seq: int64 = 0
    path: Path = field(default_factory=Path)
    max_cost: uint8 = 254
    consider_unknown_as_obstacle: bool = False
    layer_name: str = ""
    footprint: str = ""
    stop_at_first_collision: bool = True
    max_lookahead_distance: float64 = -1.0


@dataclass
class Response13(IdlStruct, typename=_RESPONSE):
    """Nav2 1.1 to 1.4."""

    guid: uint64 = 0
    seq: int64 = 0
    is_valid: bool = False
    invalid_pose_indices: sequence[int32] = field(default_factory=empty)


@dataclass
class Response15(IdlStruct, typename=_RESPONSE):
    """Nav2 1.5."""

    guid: uint64 = 0
    seq: int64 = 0
    success: bool = True
    is_valid: bool = False
    invalid_pose_indices: sequence[int32] = field(default_factory=empty)


REQUESTS = {"1.3": Request13, "1.4": Request14, "1.5": Request15}
RESPONSES = {"1.3": Response13, "1.4": Response13, "1.5": Response15}


def shape_of(data: bytes) -> Nav2 | None:
    """Return the version whose shape a serialised request has, None if it is none of them.

    What follows the path decides: nothing in 1.3, two bytes in 1.4, strings and a number in 1.5.
    """
    try:
        walk = _Walk(data)
        walk.skip(16)
        _skip_path(walk)
        rest = walk.left
        if rest < 4:
            return "1.3" if rest == 0 else "1.4"
        walk.skip(2)
        if walk.left < 4 and not any(walk.rest):
            return "1.4"
        walk.string()
        walk.string()
        walk.skip(1)
        walk.align(8)
        walk.skip(8)
    except (struct.error, ValueError):
        return None
    return "1.5" if walk.left < 4 else None


class _Walk:
    """A position in serialised data (plain CDR, XCDR1), after its four bytes of encapsulation."""

    def __init__(self, data: bytes) -> None:
        if len(data) < 4 or data[0] != 0 or data[1] not in (0, 1):
            raise ValueError("not plain CDR")
        self._data, self._at = data[4:], 0
        self._unsigned = struct.Struct("<I" if data[1] == 1 else ">I")

    @property
    def rest(self) -> bytes:
        return self._data[self._at :]

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def align(self, size: int) -> None:
        self._at += -self._at % size

    def skip(self, size: int) -> None:
        self._at += size
        if self._at > len(self._data):
            raise ValueError("the data end too early")

    def unsigned(self) -> int:
        self.align(4)
        (value,) = self._unsigned.unpack_from(self._data, self._at)
        self._at += 4
        return value

    def string(self) -> None:
        size = self.unsigned()
        self.skip(size)
        if size and self._data[self._at - 1] != 0:
            raise ValueError("a string without an end")

    def header(self) -> None:
        self.align(4)
        self.skip(8)
        self.string()


def _skip_path(walk: _Walk) -> None:
    walk.header()
    count = walk.unsigned()
    if count * 72 > walk.left:
        raise ValueError("more poses than data")
    for _ in range(count):
        walk.header()
        walk.align(8)
        walk.skip(56)
