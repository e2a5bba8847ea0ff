"""Terrain: slip differs from cell to cell, and some patches drift while others do not.

One epsilon_t for the whole grid is that of its wildest patch, wherever the robot is. `local_drift_bounds`
(model) keeps a bound for every state and action, and the rule `local-drift` (schedule) looks at those on
the robot's way.

In the built-in settings a wall with two gates lies across the way. The near gate stands on sand that gives
way while the robot is coming; the far one is still. Dunes at the far edge shift as fast at other times, and
nobody goes there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.model import TVMDP, Reward, SlipKernel, constant
from replan.model.kernel import Array
from replan.worlds.rover import DISTANCE_SCALE, Cell, distances


@dataclass(frozen=True)
class Patch:
    """A rectangle of cells whose slip goes in a straight line from one value to another."""

    rows: tuple[int, int]  # first and last
    columns: tuple[int, int]  # first and last
    slip: float  # up to the time `begin`
    final_slip: float | None = None  # from the time `end` on; None: it does not drift
    begin: int = 0
    end: int = 1

    def slip_at(self, t: int) -> float:
        """The slip of its cells."""
        if self.final_slip is None:
            return self.slip
        passed = np.clip((t - self.begin) / (self.end - self.begin), 0, 1)
        return float(self.slip + (self.final_slip - self.slip) * passed)


def build(
    *,
    n: int = 12,
    horizon: int = 40,
    slip: float = 0.02,
    patches: Iterable[Patch | Mapping[str, Any]] = (),
    walls: Iterable[Sequence[int]] = (),
    start: Sequence[int] = (0, 0),
    goal: Sequence[int] | None = None,
) -> TVMDP:
    """An n x n grid of still ground with the given `slip`, and patches on it, later ones over earlier.

    A patch may be given as a mapping of its fields. A wall is (first row, first column, last row, last
    column) of cells that cannot be entered. The reward is the rover's, -d1(s', goal) / 20.
    """
    start, goal = _cell(start, n, "start"), _cell((n - 1, n - 1) if goal is None else goal, n, "goal")
    patches = tuple(_patch(given, n) for given in patches)
    blocked = _blocked(walls, n)
    if blocked[start] or blocked[goal]:
        raise InputError("a wall lies on the start or the goal")

    def kernel(t: int) -> SlipKernel:
        return SlipKernel((n, n), slip_field(n, slip, patches, t), blocked=blocked)

    return TVMDP(
        horizon=horizon,
        kernel=kernel,
        reward=constant(Reward(next_state=-distances(n, goal) / DISTANCE_SCALE)),
        start=start[0] * n + start[1],
        start_states=np.flatnonzero(~blocked.reshape(-1)),
        grid=(n, n),
    )


def slip_field(n: int, slip: float, patches: Iterable[Patch], t: int) -> Array:
    """(S,) slip of every cell at time t."""
    field = np.full((n, n), float(slip))
    for patch in patches:
        (top, bottom), (left, right) = patch.rows, patch.columns
        field[top : bottom + 1, left : right + 1] = patch.slip_at(t)
    return field.reshape(-1)


def _patch(given: Patch | Mapping[str, Any], n: int) -> Patch:
    try:
        patch = given if isinstance(given, Patch) else Patch(**given)
    except TypeError as error:
        raise InputError(f"patch {given}: {error}") from None
    for name, (first, last) in (("rows", patch.rows), ("columns", patch.columns)):
        if not 0 <= first <= last < n:
            raise InputError(f"patch {name} {first} to {last} do not fit a {n} x {n} grid")
    for name, value in (("slip", patch.slip), ("final_slip", patch.final_slip)):
        if value is not None and not 0 <= value <= 1:
            raise InputError(f"patch {name} must lie between 0 and 1, not {value:g}")
    if patch.end <= patch.begin:
        raise InputError(f"a patch drifts from {patch.begin} to {patch.end}: the end must come later")
    return patch


def _blocked(walls: Iterable[Sequence[int]], n: int) -> np.ndarray:
    blocked = np.zeros((n, n), dtype=bool)
    for wall in walls:
        if len(wall) != 4 or not (0 <= wall[0] <= wall[2] < n and 0 <= wall[1] <= wall[3] < n):
            raise InputError(
                f"wall {list(wall)} is not first row, first column, last row, last column within 0 to {n - 1}"
            )
        top, left, bottom, right = wall
        blocked[top : bottom + 1, left : right + 1] = True
    return blocked


def _cell(given: Sequence[int], n: int, name: str) -> Cell:
    if len(given) != 2 or not all(0 <= index < n for index in given):
        raise InputError(f"{name} {list(given)} is not a cell of the {n} x {n} grid")
    return int(given[0]), int(given[1])
