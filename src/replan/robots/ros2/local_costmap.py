"""A local costmap on the cells of the map: which cells does it show, and which of them are blocked?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from replan.model.kernel import Array, Indices
from replan.robots.planar_transforms import PlanarPose, pose_of
from replan.worlds.cell_map import CellMap
from replan.worlds.map_file import OCCUPIED, UNKNOWN, OccupancyMap

INSCRIBED = 99  # cost from which the robot's centre cannot be there


def occupancy_of(message: Any, frame: PlanarPose = PlanarPose()) -> OccupancyMap:  # noqa: B008 (frozen)
    """Return the map in a `nav_msgs/OccupancyGrid` whose frame has this pose."""
    info, origin = message.info, frame.then(pose_of(message.info.origin))
    return OccupancyMap.from_grid(
        message.data,
        width=info.width,
        height=info.height,
        resolution=info.resolution,
        origin=(origin.x, origin.y, origin.yaw),
    )


def cells_shown(
    costmap: OccupancyMap, cells: CellMap, path: Array, way: Indices
) -> tuple[Indices, np.ndarray]:
    """Return the cells whose centres a costmap shows, and for each whether it is blocked.

    A cell is blocked if an obstacle lies in it, if its centre is too near to one, or if the map has it so. On
    the way of the robot's (n, 2) path the points of the path count instead: it may pass an obstacle closely.
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
