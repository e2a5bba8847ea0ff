"""Poses in the plane: their composition, the tree of frames in /tf, and costmaps on the cells of a map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from replan.typing import Array, Indices
from replan.worlds.cell_map import CellMap
from replan.worlds.map_file import OCCUPIED, UNKNOWN, OccupancyMap


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
        """Take messages of type `geometry_msgs/TransformStamped`."""
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


INSCRIBED = 99  # cost from which the robot's centre cannot be there
NO_PATH = np.empty((0, 2))


def occupancy_of(message: Any, frame: PlanarPose = PlanarPose()) -> OccupancyMap:  # noqa: B008 (frozen)
    """Return the map in a `nav_msgs/OccupancyGrid`.

    Parameters
    ----------
    message : nav_msgs/OccupancyGrid
        The message.
    frame : PlanarPose
        Pose of the message's frame in that of the map.

    Returns
    -------
    OccupancyMap
        The map.
    """
    info, origin = message.info, frame.then(pose_of(message.info.origin))
    return OccupancyMap.from_grid(
        message.data,
        width=info.width,
        height=info.height,
        resolution=info.resolution,
        origin=(origin.x, origin.y, origin.yaw),
    )


def cells_shown(
    costmap: OccupancyMap, cells: CellMap, path: Array = NO_PATH, way: ArrayLike = ()
) -> tuple[Indices, np.ndarray]:
    """Return the cells whose centres a costmap shows, and for each whether it is blocked.

    A cell is blocked if an obstacle lies in it, if its centre is too near to one, or if the map has it so.

    Parameters
    ----------
    costmap : OccupancyMap
        Costs from 0 to 100 in the frame of the map, -1 where nothing is known.
    cells : CellMap
        The cells of the map.
    path : array of shape (n, 2), optional
        Points of the robot's path, which count in place of whole cells: it may pass an obstacle closely.
    way : array of int, optional
        Cells of that path.

    Returns
    -------
    tuple of ndarray
        The states, and for each whether it is blocked.
    """
    pixels = _centres(costmap)
    under = cells.states_at(pixels)
    inside = under >= 0
    states = np.unique(under[inside])
    centre = costs_at(costmap, cells.positions_of(states))
    states, centre = states[centre != UNKNOWN], centre[centre != UNKNOWN]
    taken = under[inside & (costmap.occupancy.reshape(-1) >= OCCUPIED)]
    blocked = (centre >= INSCRIBED) | np.isin(states, taken) | cells.blocked[states]
    on_way = np.isin(states, way)
    hit = cells.states_at(path[costs_at(costmap, path) >= INSCRIBED])
    blocked[on_way] = np.isin(states[on_way], hit)
    return states, blocked


def costs_at(costmap: OccupancyMap, positions: ArrayLike) -> np.ndarray:
    """(n,) the costs at (n, 2) positions, unknown outside."""
    x, y, yaw = costmap.origin
    c, s = np.cos(yaw), np.sin(yaw)
    local = (np.asarray(positions, dtype=float).reshape(-1, 2) - (x, y)) @ np.array([[c, -s], [s, c]])
    j, i = np.floor(local / costmap.resolution + 1e-9).astype(np.int64).T
    height, width = costmap.occupancy.shape
    inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
    found = np.full(len(local), UNKNOWN)
    found[inside] = costmap.occupancy[i[inside], j[inside]]
    return found


def _centres(costmap: OccupancyMap) -> Array:
    """(n, 2) x, y of the centres of all pixels."""
    x, y, yaw = costmap.origin
    rows, columns = np.indices(costmap.occupancy.shape)
    local = np.stack([columns.ravel() + 0.5, rows.ravel() + 0.5], axis=1) * costmap.resolution
    c, s = np.cos(yaw), np.sin(yaw)
    return local @ np.array([[c, s], [-s, c]]) + (x, y)
