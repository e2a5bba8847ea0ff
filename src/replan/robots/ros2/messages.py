"""ROS 2 messages and services as DDS types (extra `ros`).

Each class has the fields of the ROS definition in order; its type name is the one that ROS 2 gives it on the
wire. A request or response begins with the identity of the call (`guid`, `seq`), which the reply repeats.
"""

from dataclasses import dataclass, field
from typing import Any

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import (
    array,
    byte,
    float32,
    float64,
    int8,
    int32,
    int64,
    sequence,
    uint8,
    uint32,
    uint64,
)


def wire_name(ros_type: str) -> str:
    """Return the DDS name of a ROS type: geometry_msgs/msg/Point is geometry_msgs::msg::dds_::Point_."""
    package, kind, name = ros_type.split("/")
    return f"{package}::{kind}::dds_::{name}_"


def empty() -> Any:
    """Return the default of a sequence."""
    return []


def _no_covariance() -> Any:
    return [0.0] * 36


@dataclass
class Time(IdlStruct, typename=wire_name("builtin_interfaces/msg/Time")):
    """A point in time; `nanosec` counts from `sec`."""

    sec: int32 = 0
    nanosec: uint32 = 0

    @property
    def seconds(self) -> float:
        """The time in seconds."""
        return self.sec + self.nanosec * 1e-9

    @classmethod
    def of(cls, seconds: float) -> "Time":
        """Return the time nearest to a number of seconds."""
        nanoseconds = round(seconds * 1e9)
        return cls(nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000)


@dataclass
class Header(IdlStruct, typename=wire_name("std_msgs/msg/Header")):
    """Time and frame of a message."""

    stamp: Time = field(default_factory=Time)
    frame_id: str = ""


@dataclass
class Bool(IdlStruct, typename=wire_name("std_msgs/msg/Bool")):
    """A truth value."""

    data: bool = False


@dataclass
class Clock(IdlStruct, typename=wire_name("rosgraph_msgs/msg/Clock")):
    """The time of a simulation."""

    clock: Time = field(default_factory=Time)


@dataclass
class Point(IdlStruct, typename=wire_name("geometry_msgs/msg/Point")):
    """A position in metres."""

    x: float64 = 0.0
    y: float64 = 0.0
    z: float64 = 0.0


@dataclass
class Vector3(IdlStruct, typename=wire_name("geometry_msgs/msg/Vector3")):
    """A vector in free space."""

    x: float64 = 0.0
    y: float64 = 0.0
    z: float64 = 0.0


@dataclass
class Quaternion(IdlStruct, typename=wire_name("geometry_msgs/msg/Quaternion")):
    """An orientation."""

    x: float64 = 0.0
    y: float64 = 0.0
    z: float64 = 0.0
    w: float64 = 1.0


@dataclass
class Pose(IdlStruct, typename=wire_name("geometry_msgs/msg/Pose")):
    """Position and orientation."""

    position: Point = field(default_factory=Point)
    orientation: Quaternion = field(default_factory=Quaternion)


@dataclass
class PoseStamped(IdlStruct, typename=wire_name("geometry_msgs/msg/PoseStamped")):
    """A pose with time and frame."""

    header: Header = field(default_factory=Header)
    pose: Pose = field(default_factory=Pose)


@dataclass
class PoseWithCovariance(IdlStruct, typename=wire_name("geometry_msgs/msg/PoseWithCovariance")):
    """A pose and the covariance of x, y, z and the rotations about them, row by row."""

    pose: Pose = field(default_factory=Pose)
    covariance: array[float64, 36] = field(default_factory=_no_covariance)


@dataclass
class PoseWithCovarianceStamped(IdlStruct, typename=wire_name("geometry_msgs/msg/PoseWithCovarianceStamped")):
    """A pose estimate with its covariance, as a localiser publishes it."""

    header: Header = field(default_factory=Header)
    pose: PoseWithCovariance = field(default_factory=PoseWithCovariance)


@dataclass
class Twist(IdlStruct, typename=wire_name("geometry_msgs/msg/Twist")):
    """Linear and angular velocity."""

    linear: Vector3 = field(default_factory=Vector3)
    angular: Vector3 = field(default_factory=Vector3)


@dataclass
class TwistWithCovariance(IdlStruct, typename=wire_name("geometry_msgs/msg/TwistWithCovariance")):
    """A velocity and its covariance."""

    twist: Twist = field(default_factory=Twist)
    covariance: array[float64, 36] = field(default_factory=_no_covariance)


@dataclass
class Transform(IdlStruct, typename=wire_name("geometry_msgs/msg/Transform")):
    """Translation and rotation from one frame to another."""

    translation: Vector3 = field(default_factory=Vector3)
    rotation: Quaternion = field(default_factory=Quaternion)


@dataclass
class TransformStamped(IdlStruct, typename=wire_name("geometry_msgs/msg/TransformStamped")):
    """The pose of `child_frame_id` in the header's frame."""

    header: Header = field(default_factory=Header)
    child_frame_id: str = ""
    transform: Transform = field(default_factory=Transform)


@dataclass
class TFMessage(IdlStruct, typename=wire_name("tf2_msgs/msg/TFMessage")):
    """A list of transforms."""

    transforms: sequence[TransformStamped] = field(default_factory=empty)


@dataclass
class Odometry(IdlStruct, typename=wire_name("nav_msgs/msg/Odometry")):
    """Pose and velocity from odometry."""

    header: Header = field(default_factory=Header)
    child_frame_id: str = ""
    pose: PoseWithCovariance = field(default_factory=PoseWithCovariance)
    twist: TwistWithCovariance = field(default_factory=TwistWithCovariance)


@dataclass
class Path(IdlStruct, typename=wire_name("nav_msgs/msg/Path")):
    """A list of poses to follow."""

    header: Header = field(default_factory=Header)
    poses: sequence[PoseStamped] = field(default_factory=empty)


@dataclass
class MapMetaData(IdlStruct, typename=wire_name("nav_msgs/msg/MapMetaData")):
    """Size, resolution and place of an occupancy grid."""

    map_load_time: Time = field(default_factory=Time)
    resolution: float32 = 0.0
    width: uint32 = 0
    height: uint32 = 0
    origin: Pose = field(default_factory=Pose)


@dataclass
class OccupancyGrid(IdlStruct, typename=wire_name("nav_msgs/msg/OccupancyGrid")):
    """Occupancy in percent, -1 where unknown, row by row from the origin."""

    header: Header = field(default_factory=Header)
    info: MapMetaData = field(default_factory=MapMetaData)
    data: sequence[int8] = field(default_factory=empty)


@dataclass
class KeyValue(IdlStruct, typename=wire_name("diagnostic_msgs/msg/KeyValue")):
    """A value with a name."""

    key: str = ""
    value: str = ""


@dataclass
class DiagnosticStatus(IdlStruct, typename=wire_name("diagnostic_msgs/msg/DiagnosticStatus")):
    """The state of one component: 0 is fine, 1 a warning, 2 an error, 3 stale."""

    level: byte = 0
    name: str = ""
    message: str = ""
    hardware_id: str = ""
    values: sequence[KeyValue] = field(default_factory=empty)


@dataclass
class DiagnosticArray(IdlStruct, typename=wire_name("diagnostic_msgs/msg/DiagnosticArray")):
    """The states of several components."""

    header: Header = field(default_factory=Header)
    status: sequence[DiagnosticStatus] = field(default_factory=empty)


@dataclass
class TriggerRequest(IdlStruct, typename=wire_name("std_srvs/srv/Trigger_Request")):
    """A request without arguments, which is one unused byte on the wire."""

    guid: uint64 = 0
    seq: int64 = 0
    structure_needs_at_least_one_member: uint8 = 0


@dataclass
class TriggerResponse(IdlStruct, typename=wire_name("std_srvs/srv/Trigger_Response")):
    """Whether it worked, and a text."""

    guid: uint64 = 0
    seq: int64 = 0
    success: bool = False
    message: str = ""
