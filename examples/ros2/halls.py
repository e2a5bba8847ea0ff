"""Halls to drive through: generated maps in which ways get closed and floor gets wet as a seed draws it.

Maps are drawn in cells of `CELL` metres, row 0 at the origin. Nothing of what will change is part of the map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from replan.errors import InputError, did_you_mean
from replan.robots import OCCUPIED, CellMap, OccupancyMap

CELL = 0.5  # metres
DRY, WET = 0.05, 0.7  # slip
FOREVER = 10**9  # seconds

Box = tuple[int, int, int, int]  # first row, first column, rows, columns


@dataclass(frozen=True)
class Change:
    """A part of the hall that is closed, or wet, for some time."""

    box: Box
    begin: int  # seconds
    end: int = FOREVER
    wet: bool = False

    def covers(self, place: tuple[int, int]) -> bool:
        """Return whether a row and column lie in it."""
        row, column, rows, columns = self.box
        return row <= place[0] < row + rows and column <= place[1] < column + columns


@dataclass(frozen=True)
class Hall:
    """A map, where to go on it, and what happens meanwhile."""

    name: str
    walls: np.ndarray = field(repr=False)  # (rows, columns) bool
    start: tuple[int, int]  # row and column
    goal: tuple[int, int]
    changes: tuple[Change, ...] = ()

    @property
    def map(self) -> OccupancyMap:
        """The map as a map server has it."""
        return OccupancyMap(np.where(self.walls, OCCUPIED, 0).astype(np.int8), CELL)

    @property
    def cells(self) -> CellMap:
        """The map's cells."""
        return CellMap.cut(self.map, cell=CELL)

    def state(self, place: tuple[int, int]) -> int:
        """Return the state of a row and column."""
        return (self.walls.shape[0] - 1 - place[0]) * self.walls.shape[1] + place[1]

    def place(self, state: int) -> tuple[int, int]:
        """Return row and column of a state."""
        row, column = divmod(state, self.walls.shape[1])
        return self.walls.shape[0] - 1 - row, column

    def closed(self, changes: Iterable[Change]) -> np.ndarray:
        """(S,) whether each cell is closed, by a wall or by one of these changes."""
        closed = self._covered(change for change in changes if not change.wet)
        closed[self.goal] = False
        return self._flat(self.walls | closed)

    def slip(self, changes: Iterable[Change]) -> np.ndarray:
        """(S,) the slip of each cell."""
        return np.where(self._flat(self._covered(change for change in changes if change.wet)), WET, DRY)

    def _covered(self, changes: Iterable[Change]) -> np.ndarray:
        covered = np.zeros_like(self.walls)
        for change in changes:
            row, column, rows, columns = change.box
            covered[row : row + rows, column : column + columns] = True
        return covered

    def _flat(self, grid: np.ndarray) -> np.ndarray:
        return grid[::-1].reshape(-1)


def draw_hall(name: str, seed: int) -> Hall:
    """Return a hall of a kind with the changes that a seed draws."""
    if name not in HALLS:
        raise InputError(f"there is no hall {name!r}{did_you_mean(name, list(HALLS))}")
    return HALLS[name](np.random.default_rng([seed, sorted(HALLS).index(name)]))


def _bounded(rows: int, columns: int) -> np.ndarray:
    walls = np.ones((rows, columns), dtype=bool)
    walls[1:-1, 1:-1] = False
    return walls


def _corridors(rng: np.random.Generator) -> Hall:
    """Corridors of 1 m around 15 blocks; four stretches are closed and stay so, one gets wet."""
    walls = _bounded(22, 34)
    stretches: list[Box] = []
    for i, j in product(range(3), range(5)):
        walls[3 + 6 * i : 7 + 6 * i, 3 + 6 * j : 7 + 6 * j] = True
    stretches += [(1 + 6 * i, 4 + 6 * j, 2, 2) for i, j in product(range(4), range(5))]
    stretches += [(4 + 6 * i, 1 + 6 * j, 2, 2) for i, j in product(range(3), range(6))]
    chosen = [stretches[k] for k in rng.choice(len(stretches), 5, replace=False)]
    changes = [Change(box, _soon(rng, 35)) for box in chosen[:4]]
    wet = Change(chosen[4], _soon(rng, 25), wet=True)
    return Hall("corridors", walls, (1, 1), (20, 32), (*changes, wet))


def _rooms(rng: np.random.Generator) -> Hall:
    """Six rooms with doors of 1 m between them; three doors are shut for a while, one room gets wet."""
    walls = _bounded(21, 34)
    walls[10], walls[:, 11], walls[:, 22] = True, True, True
    doors: list[Box] = [(int(rng.integers(2, 8)) + 10 * i, c, 2, 1) for i in range(2) for c in (11, 22)]
    doors += [(10, int(rng.integers(2, 8)) + 11 * j, 1, 2) for j in range(3)]
    for row, column, rows, columns in doors:
        walls[row : row + rows, column : column + columns] = False
    shut = [doors[k] for k in rng.choice(len(doors), 3, replace=False)]
    changes = [Change(box, begin, begin + 60) for box in shut for begin in [_soon(rng, 35)]]
    room = (int(rng.integers(2, 6)) + 10 * int(rng.integers(2)), int(rng.integers(12, 17)), 4, 5)
    wet = Change(room, _soon(rng, 30), wet=True)
    return Hall("rooms", walls, (2, 2), (18, 31), (*changes, wet))


def _two_aisles(rng: np.random.Generator) -> Hall:
    """Two aisles of 20 m with a shelf between them; one is closed somewhere, and one gets wet."""
    walls = _bounded(12, 42)
    walls[5:8, 5:37] = True
    lower, upper = (1, int(rng.integers(10, 34)), 4, 2), (8, int(rng.integers(10, 34)), 3, 2)
    closed, wet = (lower, upper) if rng.random() < 0.6 else (upper, lower)
    changes = (Change(closed, _soon(rng, 30)), Change((*wet[:3], 4), _soon(rng, 30), wet=True))
    return Hall("two aisles", walls, (2, 2), (2, 39), changes)


def _open_hall(rng: np.random.Generator) -> Hall:
    """A hall with pillars; loads are put down in it and stay, and there are two spills."""
    walls = _bounded(26, 38)
    for row, column in product((6, 12, 18), (8, 16, 24, 30)):
        walls[row : row + 2, column : column + 2] = True
    loads = [
        Change((int(rng.integers(1, 20)), int(rng.integers(5, 30)), 5, 3), _soon(rng, 35)) for _ in range(4)
    ]
    spills = [
        Change((int(rng.integers(1, 20)), int(rng.integers(5, 30)), 4, 4), _soon(rng, 35), wet=True)
        for _ in range(2)
    ]
    return Hall("open hall", walls, (2, 2), (23, 35), (*loads, *spills))


def _closing_door(rng: np.random.Generator) -> Hall:
    """A wall with two doors; the nearer one shuts while the robot is coming, and some time later opens."""
    walls = _bounded(24, 36)
    walls[:, 18] = True
    near, far = int(rng.integers(3, 9)), int(rng.integers(13, 20))
    walls[near : near + 2, 18] = walls[far : far + 2, 18] = False
    begin = _soon(rng, 25)
    end = begin + int(rng.integers(20, 120))
    return Hall("closing door", walls, (4, 2), (4, 33), (Change((near, 18, 2, 1), begin, end),))


def _crowded(rng: np.random.Generator) -> Hall:
    """A hall full of boxes, in which people stand about for some time."""
    walls = _bounded(24, 36)
    boxes = [(int(rng.integers(2, 20)), int(rng.integers(5, 30))) for _ in range(22)]
    for row, column in boxes:
        walls[row : row + 2, column : column + 2] = True
    people = []
    for _ in range(40):
        begin = int(rng.integers(0, 120))
        box = (int(rng.integers(1, 22)), int(rng.integers(4, 31)), 2, 1)
        people.append(Change(box, begin, begin + int(rng.integers(10, 40))))
    hall = Hall("crowded", walls, (2, 2), (21, 33), tuple(people))
    reached = hall.cells.moves_to(hall.state(hall.goal))[hall.state(hall.start)]
    return hall if np.isfinite(reached) else _crowded(rng)


def _soon(rng: np.random.Generator, most: int) -> int:
    return int(rng.integers(3, most))


def _empty(rng: np.random.Generator) -> Hall:
    """The open hall, in which nothing changes."""
    return Hall("nothing changes", _open_hall(rng).walls, (2, 2), (23, 35))


HALLS: dict[str, Callable[[np.random.Generator], Hall]] = {
    "corridors": _corridors,
    "rooms": _rooms,
    "two aisles": _two_aisles,
    "open hall": _open_hall,
    "closing door": _closing_door,
    "crowded": _crowded,
    "nothing changes": _empty,
}
