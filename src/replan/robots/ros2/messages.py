"""ROS 2 messages and services as DDS types, made of the definitions that `rosbags` has (extra `ros`).

`messages.Path` is the class of nav_msgs/msg/Path, made when it is first named; its type name is the one that
ROS 2 gives it on the wire. A request or response begins with the identity of the call (`guid`, `seq`), which
the reply repeats.

Nav2's service IsPathValid has three wire shapes under one type name, so a server that expects another shape
than the client sends can misread it without noticing. `shape_of` tells the shape of a request from its bytes,
and `TYPE_HASHES` from the hash that ROS 2 Jazzy and later attach to an endpoint.
"""

import struct
from dataclasses import dataclass, field
from functools import cache, partial
from types import new_class
from typing import Any, Literal

from cyclonedds.idl import IdlStruct, types
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

Nav2 = Literal["1.3", "1.4", "1.5"]
Distro = Literal["humble", "jazzy"]

#: The RIHS01 hash of `nav2_msgs/srv/IsPathValid_Request` in each version.
TYPE_HASHES: dict[str, Nav2] = {
    "RIHS01_2581491c3b0e2c7caf695a54ae0f7006e420c495abd5b0355d2e79b5b2168888": "1.3",
    "RIHS01_9772a741cdb6800ec3216d3e337984f847572d394b15e1b8a373cdbe9ffa785c": "1.4",
    "RIHS01_b3f3b2f615b36aa25e1de624a83c765b2e37dbc37f0382e49b6179be179f0e51": "1.5",
}


_PACKAGES = (
    "builtin_interfaces",
    "std_msgs",
    "geometry_msgs",
    "nav_msgs",
    "tf2_msgs",
    "rosgraph_msgs",
    "diagnostic_msgs",
)
_STORES = {"humble": Stores.ROS2_HUMBLE, "jazzy": Stores.ROS2_JAZZY}
_NUMBERS = {"char": types.uint8, "bool": bool, "string": str}
_DEFAULTS = {"bool": False, "string": "", "float32": 0.0, "float64": 0.0}
_IDENTITY = "uint64 guid\nint64 seq\n"
_PATH_13 = "nav_msgs/Path path\n"
_PATH_14 = f"{_PATH_13}uint8 max_cost\nbool consider_unknown_as_obstacle\n"
_PATH_15 = (
    f"{_PATH_14}string layer_name\nstring footprint\nbool stop_at_first_collision\n"
    "float64 max_lookahead_distance\n"
)
_VALID = "bool is_valid\nint32[] invalid_pose_indices\n"


def __getattr__(name: str) -> Any:
    for package in _PACKAGES:
        if f"{package}/msg/{name}" in _definitions("jazzy"):
            return message_type(f"{package}/msg/{name}")
    raise AttributeError(f"no ROS message {name!r} in {', '.join(_PACKAGES)}")


@cache
def message_type(ros_type: str, distro: Distro = "jazzy") -> Any:
    """Return the DDS class of a ROS message such as nav_msgs/msg/Path, all of whose fields have defaults."""
    _, fields = _definitions(distro)[ros_type]
    return _dds_class(ros_type, fields, distro)


def _service_message(ros_type: str, text: str) -> Any:
    """Return the DDS class of a request or response with the fields of `text`."""
    ((_, fields),) = get_types_from_msg(_IDENTITY + text, "service/msg/Message").values()
    return _dds_class(ros_type, fields, "jazzy")


@cache
def _definitions(distro: Distro) -> Any:
    return get_typestore(_STORES[distro]).fielddefs


def _dds_class(ros_type: str, fields: Any, distro: Distro) -> Any:
    package, kind, name = ros_type.split("/")
    parts = {part: _type_and_default(description, distro) for part, description in fields}

    def body(namespace: dict[str, Any]) -> None:
        namespace["__annotations__"] = {part: made for part, (made, _) in parts.items()}
        namespace |= {part: field(default_factory=default) for part, (_, default) in parts.items()}

    wire_name = f"{package}::{kind}::dds_::{name}_"
    return dataclass(new_class(name, (IdlStruct,), {"typename": wire_name}, body))


def _type_and_default(description: Any, distro: Distro) -> tuple[Any, Any]:
    """Return the DDS type of a field that rosbags describes, and a function that makes its default."""
    kind, inner = description
    if kind.name == "NAME":
        made = message_type(inner, distro)
        return made, made
    if kind.name == "BASE":
        name = inner[0]
        return _NUMBERS.get(name) or vars(types)[name], partial(_DEFAULTS.get, name, 0)
    element, default = _type_and_default(inner[0], distro)
    if kind.name == "ARRAY":
        return types.array[element, inner[1]], lambda: [default() for _ in range(inner[1])]
    return types.sequence[element], list


TriggerRequest = _service_message("std_srvs/srv/Trigger_Request", "uint8 structure_needs_at_least_one_member")
TriggerResponse = _service_message("std_srvs/srv/Trigger_Response", "bool success\nstring message")
REQUESTS: dict[Nav2, Any] = {
    "1.3": _service_message("nav2_msgs/srv/IsPathValid_Request", _PATH_13),  # Humble to Jazzy
    "1.4": _service_message("nav2_msgs/srv/IsPathValid_Request", _PATH_14),  # Kilted
    "1.5": _service_message("nav2_msgs/srv/IsPathValid_Request", _PATH_15),
}
RESPONSES: dict[Nav2, Any] = {
    "1.3": _service_message("nav2_msgs/srv/IsPathValid_Response", _VALID),
    "1.4": _service_message("nav2_msgs/srv/IsPathValid_Response", _VALID),
    "1.5": _service_message("nav2_msgs/srv/IsPathValid_Response", f"bool success\n{_VALID}"),
}


def make_stamp(seconds: float) -> Any:
    """Return the builtin_interfaces/Time nearest to a number of seconds."""
    sec, nanosec = divmod(round(seconds * 1e9), 1_000_000_000)
    return message_type("builtin_interfaces/msg/Time")(sec, nanosec)


def seconds_of(stamp: Any) -> float:
    """Return a builtin_interfaces/Time in seconds."""
    return stamp.sec + stamp.nanosec * 1e-9


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
