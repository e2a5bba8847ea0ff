"""Transitions between the cells of a map from a rosbag2 recording, sqlite3 or MCAP (extra `ros`).

The robot's cell is looked up at every step, a step being the time for one cell at the commanded speed. The
action of a step is the move along rows or columns nearest to what was commanded during it. Gaps, jumps of the
pose that no commanded speed explains, and a clock that goes back are told apart; no transition spans them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from replan import SlipKernel, Transitions
from replan.errors import InputError
from replan.robots.logs.log_tables import GAP, RobotLog
from replan.robots.planar_transforms import TransformTree, pose_of
from replan.typing import Array, Indices
from replan.worlds.cell_map import CellMap

POSE_TYPES = (
    "geometry_msgs/msg/PoseWithCovarianceStamped",
    "nav_msgs/msg/Odometry",
    "geometry_msgs/msg/PoseStamped",
    "tf2_msgs/msg/TFMessage",
)
COMMAND_TYPES = ("geometry_msgs/msg/Twist", "geometry_msgs/msg/TwistStamped")
JUMP = 3.0  # times the way that the greatest commanded speed allows, and at least two cells
STANDING = 0.02  # m/s; slower commands are none


@dataclass(frozen=True)
class Recording:
    """Poses and commands in the order of the bag."""

    times: Array = field(repr=False)  # (n,) seconds
    poses: Array = field(repr=False)  # (n, 3) x, y, yaw in the map's frame
    command_times: Array = field(repr=False)  # (m,)
    commands: Array = field(repr=False)  # (m, 2) forward and left, m/s

    @property
    def speed(self) -> float:
        """The usual commanded speed while moving, m/s."""
        speeds = np.linalg.norm(self.commands, axis=1)
        moving = speeds[speeds > STANDING]
        if not len(moving):
            raise InputError("the bag has no commanded velocity above 0")
        return float(np.median(moving))


def read_bag(
    path: str | Path,
    *,
    pose_topic: str | None = None,
    command_topic: str | None = None,
    map_frame: str = "map",
    base_frame: str = "base_link",
) -> Recording:
    """Read poses and commanded velocities; an `InputError` of one line if the bag is unusable."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise InputError(
            f"bags need the extra 'ros': pip install -e '.[ros]' in the checkout ({error})"
        ) from None
    poses, commands, tree = [], [], TransformTree()
    try:
        with AnyReader([Path(path)], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            kinds = {connection.topic: str(connection.msgtype) for connection in reader.connections}
            pose_topic = _topic(kinds, pose_topic, POSE_TYPES, "poses")
            command_topic = _topic(kinds, command_topic, COMMAND_TYPES, "commanded velocities")
            wanted = {pose_topic, command_topic, "/tf", "/tf_static"}
            chosen = [connection for connection in reader.connections if connection.topic in wanted]
            for connection, logged, data in reader.messages(chosen):
                message: Any = reader.deserialize(data, connection.msgtype)
                if connection.msgtype == "tf2_msgs/msg/TFMessage":
                    tree.add(message.transforms)
                if connection.topic == command_topic:
                    commands.append(_command(message, logged))
                if connection.topic == pose_topic:
                    poses += _pose(message, logged, tree, map_frame, base_frame)
    except InputError:
        raise
    except Exception as error:  # rosbags and sqlite3 raise many kinds for damaged files
        raise InputError(f"{path}: not a readable bag ({_first_line(error)})") from None
    if not poses or not commands:
        raise InputError(f"{path}: no {'pose in the map frame' if not poses else 'commanded velocity'} in it")
    found, said = np.array(poses), np.array(commands)
    return Recording(found[:, 0], found[:, 1:], said[:, 0], said[:, 1:])


def cell_log(recording: Recording, cells: CellMap, *, step: float | None = None) -> RobotLog:
    """Return the transitions between cells under the commanded moves."""
    step = cells.cell / recording.speed if step is None else step
    fastest = max(float(np.linalg.norm(recording.commands, axis=1).max()), recording.speed)
    between = np.diff(recording.times)
    way = np.linalg.norm(np.diff(recording.poses[:, :2], axis=0), axis=1)
    resets, gaps = between < 0, between > GAP * step
    jumps = ~resets & ~gaps & (way > np.maximum(JUMP * fastest * between, 2 * cells.cell))
    edges = [0, *(np.flatnonzero(resets | gaps | jumps) + 1).tolist(), len(recording.times)]
    clock = np.cumsum(np.concatenate([[0], resets]))
    command_clock = np.cumsum(np.concatenate([[0], np.diff(recording.command_times) < 0]))
    rows = []
    for begin, end in pairwise(edges):
        mine = command_clock == clock[begin]
        origin = recording.times[np.flatnonzero(clock == clock[begin])[0]]
        part = slice(begin, end)
        rows.append(
            _steps(
                recording.times[part] - origin,
                recording.poses[part],
                recording.command_times[mine] - origin,
                recording.commands[mine],
                cells,
                step,
            )
        )
    table = np.concatenate(rows)
    if not len(table):
        raise InputError("the bag has no two poses on the map that are a step apart")
    seen = Transitions.of_rows(table[np.argsort(table[:, 0], kind="stable")])
    return RobotLog(seen, step, int(clock[-1]) + 1, int(gaps.sum()), int(jumps.sum()))


def _steps(
    times: Array, poses: Array, command_times: Array, commands: Array, cells: CellMap, step: float
) -> np.ndarray:
    """(n, 4) t, s, a, next of one stretch without interruption."""
    first, last = int(np.ceil(times[0] / step - 1e-6)), int(np.floor(times[-1] / step + 1e-6))
    if last <= first or not len(command_times):
        return np.empty((0, 4))
    ticks = np.arange(first, last + 1)
    at = np.searchsorted(times, ticks * step + 1e-6 * step, side="right") - 1
    at = np.maximum(at, 0)
    states = cells.states_at(poses[at, :2])
    middle = (ticks[:-1] + 0.5) * step
    said = np.searchsorted(command_times, middle, side="right") - 1
    heading = poses[np.clip(np.searchsorted(times, middle) - 1, 0, len(times) - 1), 2]
    actions = _actions(commands[np.maximum(said, 0)], heading - cells.origin[2])
    known = (said >= 0) & (states[:-1] >= 0) & (states[1:] >= 0)
    return np.column_stack([ticks[:-1], states[:-1], actions, states[1:]])[known]


def _actions(commands: Array, heading: Array) -> Indices:
    """(n,) the move nearest to each command (forward, left) of a robot with this heading on the cells."""
    c, s = np.cos(heading), np.sin(heading)
    right = c * commands[:, 0] - s * commands[:, 1]
    up = s * commands[:, 0] + c * commands[:, 1]
    along = np.stack([right, up], axis=1) @ np.stack([SlipKernel.moves[:4, 1], -SlipKernel.moves[:4, 0]])
    stay = np.linalg.norm(commands, axis=1) <= STANDING
    return np.where(stay, len(SlipKernel.moves) - 1, along.argmax(axis=1))


def _topic(kinds: dict[str, str], given: str | None, accepted: tuple[str, ...], what: str) -> str:
    """Return the topic given, else the first one of the best type."""
    if given is not None:
        if kinds.get(given) not in accepted:
            raise InputError(f"the bag has no {what} on {given!r} (topics: {', '.join(sorted(kinds)[:8])})")
        return given
    for kind in accepted:
        for topic in sorted(kinds):
            if kinds[topic] == kind and topic != "/tf_static":
                return topic
    raise InputError(f"the bag has no {what} (topics: {', '.join(sorted(kinds)[:8]) or 'none'})")


def _command(message: Any, logged: int) -> tuple[float, float, float]:
    stamped = message.__msgtype__.endswith("Stamped")
    twist = message.twist if stamped else message
    return _seconds(message, logged, stamped), twist.linear.x, twist.linear.y


def _pose(message: Any, logged: int, tree: TransformTree, map_frame: str, base_frame: str) -> list:
    """Return (time, x, y, yaw) in the map's frame, or nothing if that frame is not connected."""
    if message.__msgtype__ == "tf2_msgs/msg/TFMessage":
        pose = tree.pose(base_frame, within=map_frame)
        return [] if pose is None else [(logged * 1e-9, pose.x, pose.y, pose.yaw)]
    frame = tree.pose(message.header.frame_id, within=map_frame)
    if frame is None:
        return []
    inner = message.pose if message.__msgtype__.endswith("/PoseStamped") else message.pose.pose
    pose = frame.then(pose_of(inner))
    return [(_seconds(message, logged, True), pose.x, pose.y, pose.yaw)]


def _seconds(message: Any, logged: int, stamped: bool) -> float:
    """Return the time of the message itself, else the time at which it was recorded."""
    if stamped and (message.header.stamp.sec or message.header.stamp.nanosec):
        return message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
    return logged * 1e-9


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
