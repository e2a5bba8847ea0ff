"""A map cut into square cells, and the cells of a pose, a path or an uncertain pose.

Row 0 is the far side of the map's y axis, so that pictures of the grid look like the map, and `up` is +y in a
map without yaw.

What the cells lose: a point is at most cell / sqrt(2) from the centre of its cell; since moves are along rows
and columns, a way is at most sqrt(2) times as long as the straight one, plus one cell at either end; and a
passage along the rows or columns is sure to stay open if it is 2 max(inflation, cell / 2) + cell wide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from replan import SlipKernel
from replan.errors import InputError
from replan.typing import Array, Indices
from replan.worlds.map_file import UNKNOWN, OccupancyMap

FARTHEST = 1e12
"""Metres from the map's corner beyond which no place is told from others."""
MOST_CELLS = 4_000_000
_STAY = len(SlipKernel.moves) - 1
_QUANTILES = 41  # points a side by which a Gaussian is put on the cells


@dataclass(frozen=True)
class CellMap:
    """Square cells over an occupancy map; the state of cell (i, j) is i * columns + j."""

    cell: float
    """Side of a cell in metres."""
    shape: tuple[int, int]
    """Rows and columns; row 0 has the greatest y."""
    blocked: np.ndarray = field(repr=False)
    """(S,) bool: cells that cannot be entered."""
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """x, y and yaw of the outer corner of the last row and the first column."""
    inflation: float = 0.0
    """Metres that the centre of a free cell is away from obstacles."""

    @classmethod
    def cut(
        cls, occupancy: OccupancyMap, *, cell: float, inflation: float = 0.0, unknown_is_free: bool = False
    ) -> CellMap:
        """Cut a map into cells.

        A cell is blocked if an occupied pixel lies in it, or if its centre is within `inflation` metres of
        one. Unknown pixels count as occupied unless `unknown_is_free`.
        """
        if not (np.isfinite(cell) and cell > 0 and np.isfinite(inflation) and inflation >= 0):
            raise InputError(f"cells of {cell} m with an inflation of {inflation} m cannot be made")
        height, width = occupancy.occupancy.shape
        extent = np.array([height, width]) * occupancy.resolution
        if cell > extent.max():
            raise InputError(
                f"cells of {cell:g} m are larger than the map of {extent[1]:g} x {extent[0]:g} m"
            )
        with np.errstate(over="ignore"):
            sides = np.maximum(np.ceil(extent / cell - 1e-6), 1)
        rows, columns = np.minimum(sides, MOST_CELLS + 1).astype(int).tolist()
        if rows * columns > MOST_CELLS:
            raise InputError(f"cells of {cell:g} m make a grid of {rows} x {columns}, which is too many")
        taken = occupancy.occupancy >= 50
        if not unknown_is_free:
            taken |= occupancy.occupancy == UNKNOWN
        blocked = _cells_with(taken, occupancy.resolution, cell, (rows, columns))
        if inflation:
            blocked |= _centres_within(taken, occupancy.resolution, cell, inflation, (rows, columns))
        return cls(cell, (rows, columns), blocked[::-1].reshape(-1), occupancy.origin, inflation)

    @property
    def states(self) -> int:
        """Number of cells."""
        return self.shape[0] * self.shape[1]

    @property
    def position_error(self) -> float:
        """Metres between a point and the centre of its cell, at most."""
        return self.cell / np.sqrt(2)

    def states_at(self, positions: ArrayLike) -> Indices:
        """(...,) the states of (..., 2) positions x, y; -1 outside the map."""
        u, v = np.moveaxis(
            _turned(np.asarray(positions, dtype=float) - self.origin[:2], -self.origin[2]), -1, 0
        )
        inside = np.maximum(np.abs(u), np.abs(v)) < FARTHEST
        column = np.floor(np.where(inside, u, -1.0) / self.cell + 1e-9).astype(np.int64)
        row = self.shape[0] - 1 - np.floor(np.where(inside, v, -1.0) / self.cell + 1e-9).astype(np.int64)
        inside &= (row >= 0) & (row < self.shape[0]) & (column >= 0) & (column < self.shape[1])
        return np.where(inside, row * self.shape[1] + column, -1)

    def positions_of(self, states: ArrayLike) -> Array:
        """(..., 2) x, y of the centres of (...,) states."""
        row, column = np.divmod(np.asarray(states, dtype=np.int64), self.shape[1])
        local = np.stack([column + 0.5, self.shape[0] - 0.5 - row], axis=-1) * self.cell
        return _turned(local, self.origin[2]) + self.origin[:2]

    def free_state_at(self, position: ArrayLike) -> int:
        """Return the free cell at a position, else the nearest free one."""
        state = int(self.states_at(position))
        if state >= 0 and not self.blocked[state]:
            return state
        if not len(self._free):
            raise InputError("every cell of the map is blocked")
        away = np.linalg.norm(self.positions_of(self._free) - np.asarray(position, dtype=float), axis=1)
        return int(self._free[np.argmin(away)])

    def states_along(self, path: ArrayLike) -> Indices:
        """Return the cells that a path of (n, 2) positions crosses, each sharing an edge with the next.

        Parts outside the map are left out. Where the path goes from one cell to another over a corner, the
        cell in between that is free is taken.
        """
        visited = self.states_at(self.points_along(path))
        visited = visited[visited >= 0]
        if not len(visited):
            return visited
        visited = visited[np.concatenate([[True], np.diff(visited) != 0])]
        return np.array(list(self._by_edges(visited.tolist())), dtype=np.int64)

    def points_along(self, path: ArrayLike) -> Array:
        """(m, 2) points of a path of (n, 2) positions, a quarter of a cell apart at most."""
        path = np.asarray(path, dtype=float).reshape(-1, 2)
        pieces = [path[:1]]
        for begin, end in pairwise(path):
            count = max(int(np.ceil(np.linalg.norm(end - begin) / (self.cell / 4))), 1)
            pieces.append(begin + (end - begin) * (np.arange(1, count + 1) / count)[:, None])
        return np.concatenate(pieces)

    def policy_along(self, way: ArrayLike, otherwise: Indices) -> Indices:
        """(S,) the policy that follows a way of cells, with the policy `otherwise` off it.

        Where the way comes to a cell twice, the last time counts. At its end the robot stays. A move into a
        blocked cell or to one that is not next door is left to `otherwise`.
        """
        way = np.asarray(way, dtype=np.int64)
        policy = np.array(otherwise, dtype=np.int64)
        for state, following in pairwise(way.tolist()):
            move = self._moves.get(following - state)
            if move is not None and not self.blocked[following]:
                policy[state] = move
        if len(way):
            policy[way[-1]] = _STAY
        return policy

    def distribution_at(self, position: ArrayLike, covariance: ArrayLike) -> Array:
        """(S,) probabilities of the cells for a Gaussian with this mean and (2, 2) covariance of x, y.

        The Gaussian is represented by 41 x 41 points of equal weight. Points outside the map or in blocked
        cells are left out; if none remains, the nearest free cell has probability 1.
        """
        values, axes = np.linalg.eigh(np.asarray(covariance, dtype=float).reshape(2, 2))
        if not np.isfinite(values).all():
            raise InputError("a covariance that is not finite")
        spread = axes * np.sqrt(np.maximum(values, 0.0))
        points = np.asarray(position, dtype=float) + _normal_points() @ spread.T
        states = self.states_at(points)
        states = states[states >= 0]
        counts = np.bincount(states[~self.blocked[states]], minlength=self.states).astype(float)
        if not counts.any():
            counts[self.free_state_at(position)] = 1.0
        return counts / counts.sum()

    def moves_to(self, goal: int) -> Array:
        """(S,) the least number of moves to the goal over free cells; infinite if there is no way."""
        rows, columns = self.shape
        free = np.zeros((rows + 2, columns + 2), dtype=bool)
        free[1:-1, 1:-1] = ~self.blocked.reshape(self.shape)
        found = np.full((rows + 2, columns + 2), np.inf)
        front = np.array([(goal // columns + 1) * (columns + 2) + goal % columns + 1])
        flat, open_cells = found.reshape(-1), free.reshape(-1)
        steps = np.array([1, -1, columns + 2, -columns - 2])
        distance = 0
        while len(front):
            flat[front] = distance
            distance += 1
            beside = np.unique(front[:, None] + steps)
            front = beside[open_cells[beside] & np.isinf(flat[beside])]
        return found[1:-1, 1:-1].reshape(-1)

    def freed(self, states: ArrayLike) -> CellMap:
        """Return the same map with these cells free."""
        blocked = self.blocked.copy()
        blocked[np.asarray(states, dtype=np.int64)] = False
        return CellMap(self.cell, self.shape, blocked, self.origin, self.inflation)

    @cached_property
    def _free(self) -> Indices:
        return np.flatnonzero(~self.blocked)

    @cached_property
    def _moves(self) -> dict[int, int]:
        """The action of each difference between the states of neighbours."""
        return {
            int(i) * self.shape[1] + int(j): action for action, (i, j) in enumerate(SlipKernel.moves[:_STAY])
        }

    def _by_edges(self, visited: list[int]) -> Iterable[int]:
        yield visited[0]
        for state, following in pairwise(visited):
            (i, j), (k, m) = divmod(state, self.shape[1]), divmod(following, self.shape[1])
            while (i, j) != (k, m):
                by_row, by_column = (i + np.sign(k - i), j), (i, j + np.sign(m - j))
                choices = [cell for cell in (by_column, by_row) if cell != (i, j)]
                open_choices = [
                    cell for cell in choices if not self.blocked[cell[0] * self.shape[1] + cell[1]]
                ]
                i, j = (int(part) for part in (open_choices or choices)[0])
                yield i * self.shape[1] + j


def _turned(points: Array, angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, s], [-s, c]])


def _normal_points() -> Array:
    """(n, 2) points of equal weight that stand for a standard normal distribution in the plane."""
    quantiles = [NormalDist().inv_cdf((k + 0.5) / _QUANTILES) for k in range(_QUANTILES)]
    return np.stack(np.meshgrid(quantiles, quantiles), axis=-1).reshape(-1, 2)


def _cells_with(taken: np.ndarray, resolution: float, cell: float, shape: tuple[int, int]) -> np.ndarray:
    """(rows, columns) whether a taken pixel overlaps the cell, row 0 at the origin."""
    found = np.zeros(shape, dtype=bool)
    rows, columns = np.nonzero(taken)
    low = [np.floor(part * resolution / cell + 1e-6).astype(int) for part in (rows, columns)]
    high = [np.ceil((part + 1) * resolution / cell - 1e-6).astype(int) - 1 for part in (rows, columns)]
    span = int(np.ceil(resolution / cell)) + 1
    for di in range(span):
        for dj in range(span):
            i, j = np.minimum(low[0] + di, high[0]), np.minimum(low[1] + dj, high[1])
            found[np.clip(i, 0, shape[0] - 1), np.clip(j, 0, shape[1] - 1)] = True
    return found


def _centres_within(
    taken: np.ndarray, resolution: float, cell: float, inflation: float, shape: tuple[int, int]
) -> np.ndarray:
    """(rows, columns) whether a taken pixel is within `inflation` of the centre, row 0 at the origin."""
    from scipy.ndimage import binary_erosion
    from scipy.spatial import KDTree

    rows, columns = np.nonzero(taken & np.logical_not(binary_erosion(taken)))
    if not len(rows):
        return np.zeros(shape, dtype=bool)
    centres = np.stack(np.meshgrid(*(np.arange(n) + 0.5 for n in shape), indexing="ij"), axis=-1) * cell
    pixels = (np.stack([rows, columns], axis=-1) + 0.5) * resolution
    away, _ = KDTree(pixels).query(centres.reshape(-1, 2), distance_upper_bound=inflation + resolution)
    return (away <= inflation + resolution / 2).reshape(shape)
