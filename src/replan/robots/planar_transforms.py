"""Poses in the plane: composition, and the tree of frames that /tf publishes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PlanarPose:
    """Position in metres and heading in radians."""

    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0

    def then(self, other: PlanarPose) -> PlanarPose:
        """Return the pose `other`, given in the frame of this pose, in this pose's own frame."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return PlanarPose(
            self.x + c * other.x - s * other.y, self.y + s * other.x + c * other.y, self.yaw + other.yaw
        )


def heading(orientation: Any) -> float:
    """Return the yaw of a quaternion with the fields x, y, z, w."""
    x, y, z, w = orientation.x, orientation.y, orientation.z, orientation.w
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def pose_of(pose: Any) -> PlanarPose:
    """Return a `geometry_msgs/Pose` in the plane."""
    return PlanarPose(pose.position.x, pose.position.y, heading(pose.orientation))


class TransformTree:
    """The latest transform of every frame to its parent."""

    def __init__(self) -> None:
        self._parents: dict[str, tuple[str, PlanarPose]] = {}

    def add(self, transforms: Any) -> None:
        """Take `geometry_msgs/TransformStamped`s."""
        for transform in transforms:
            shift, turn = transform.transform.translation, transform.transform.rotation
            pose = PlanarPose(shift.x, shift.y, heading(turn))
            self._parents[_plain(transform.child_frame_id)] = (_plain(transform.header.frame_id), pose)

    def pose(self, frame: str, *, within: str) -> PlanarPose | None:
        """Return the pose of a frame within another one further up the tree, None if it is unknown."""
        frame, within = _plain(frame), _plain(within)
        found = PlanarPose()
        for _ in range(len(self._parents) + 1):
            if frame == within:
                return found
            if frame not in self._parents:
                return None
            frame, step = self._parents[frame]
            found = step.then(found)
        return None


def _plain(frame: str) -> str:
    return frame.lstrip("/")
