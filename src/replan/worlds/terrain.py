"""Terrain: slip differs from cell to cell, and some patches drift while others do not.

One epsilon_t for the whole grid is that of its wildest patch, wherever the robot is. `local_drift_bounds`
(model) keeps a bound for every state and action; a rule can look at those on the robot's way.

In the built-in settings a wall with two gates lies across the way. The near gate stands on sand that gives
way while the robot is coming; the far one is still. Dunes at the far edge shift as fast at other times, and
the robot never goes there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from replan.errors import InputError
from replan.model.family import VALUES, Family
from replan.model.grid_map import DISTANCE_SCALE
from replan.model.kernel import Array, constant
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.model.world import World
from replan.worlds.parameters import (
    Fraction,
    Horizon,
    Pair,
    Parameters,
    Side,
    WorldParameters,
    register_world,
)
from replan.worlds.slip_grid import distances

Wall = Annotated[tuple[int, ...], Field(min_length=4, max_length=4, strict=False)]


class ChangingSlip(Parameters):
    """Slip that goes in a straight line from one value to another."""

    slip: Fraction
    """Slip up to the time `begin`."""
    final_slip: Fraction | None = None
    """Slip from the time `end` on; without it the patch does not drift."""
    begin: int = 0
    """Time from which the slip changes."""
    end: int = 1
    """Time at which it has changed."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.begin >= self.end:
            raise ValueError(f"a patch must end its drift after it begins, not {self.begin} to {self.end}")
        return self

    def slip_at(self, t: int) -> float:
        """Return the slip at time t."""
        if self.final_slip is None:
            return self.slip
        passed = np.clip((t - self.begin) / (self.end - self.begin), 0, 1)
        return float(self.slip + (self.final_slip - self.slip) * passed)


class Patch(ChangingSlip):
    """A rectangle of cells with a slip of its own."""

    rows: Pair
    """First and last row."""
    columns: Pair
    """First and last column."""


class Ground(Parameters):
    """Still ground with patches on it."""

    slip: Fraction = 0.02
    """Slip of the still ground."""
    patches: list[Patch] = Field(default=[])
    """Patches of other ground, later ones over earlier ones."""
    walls: list[Wall] = Field(default=[])
    """First row, first column, last row and last column of cells that cannot be entered."""
    start: Pair = (0, 0)
    """Row and column of the start."""
    goal: Pair | None = None
    """Row and column of the goal; by default the far corner."""


@register_world("terrain")
class Terrain(WorldParameters):
    """Ground that differs from cell to cell and drifts in places only."""

    n: Side = 12
    """Rows and columns."""
    horizon: Horizon = 40
    """Steps, T."""
    terrain: Ground = Ground()
    """The ground, its patches and its walls."""

    def build(self) -> World:
        """Return the world. The reward is the rover's, -d1(s', goal) / 20."""
        n, ground = self.n, self.terrain
        start = _cell(ground.start, n, "start")
        goal = _cell(ground.goal or (n - 1, n - 1), n, "goal")
        blocked = _blocked(ground.walls, n)
        if blocked[start] or blocked[goal]:
            raise InputError("a wall lies on the start or the goal")
        for patch in ground.patches:
            _check_fit(patch, n)

        def kernel(t: int) -> SlipKernel:
            return SlipKernel((n, n), slip_field(ground, n, t), blocked=blocked)

        return World(
            horizon=self.horizon,
            kernel=kernel,
            reward=constant(Reward(next_state=-distances(n, goal) / DISTANCE_SCALE)),
            start=start[0] * n + start[1],
            start_states=np.flatnonzero(~blocked.reshape(-1)),
            grid=(n, n),
            declared_successors=kernel(0).destinations() if blocked.any() else None,
            family=_family(ground, n, blocked),
        )


def _family(ground: Ground, n: int, blocked: np.ndarray) -> Family | None:
    """Return the kernels by the slips of one or two drifting patches, exact if no other one drifts.

    If there are more, an estimator tries the slip of the first and a forecast moves one slip of all.
    """
    drifting = _visible(ground, n, blocked)
    if not drifting:
        return None
    tried = drifting if len(drifting) == 2 else drifting[:1]
    which = "one patch" if len(drifting) == 1 else f"{len(tried)} of the patches"
    others = "the other patches are as at the start" if len(drifting) > 2 else "all else is known and stays"
    moves = Family(
        "the kernel is one slip of all patches that drift; all else is known and stays",
        {"slip of the patches": np.linspace(0, 1, VALUES)},
        lambda slip: _kernel_with(ground, n, blocked, dict.fromkeys(drifting, float(slip))),
        linear=True,
    )
    return Family(
        f"the kernel is the slip of {which}; {others}",
        {f"slip of patch {i + 1}": np.linspace(0, 1, VALUES if len(tried) == 1 else 11) for i in tried},
        lambda *slips: _kernel_with(ground, n, blocked, dict(zip(tried, slips, strict=True))),
        linear=True,
        exact=len(_drifting(ground)) == 1,
        moves=moves if len(drifting) > 2 else None,
    )


def _visible(ground: Ground, n: int, blocked: np.ndarray) -> list[int]:
    """Return the numbers of the drifting patches of which a cell can be entered and lies under no other."""
    owner = _painted(ground, n, -1, range(len(ground.patches)))
    return [i for i in _drifting(ground) if (owner[~blocked.reshape(-1)] == i).any()]


def _drifting(ground: Ground) -> list[int]:
    return [i for i, patch in enumerate(ground.patches) if patch.final_slip is not None]


def _kernel_with(ground: Ground, n: int, blocked: np.ndarray, slips: dict[int, float]) -> SlipKernel:
    """Return the kernel in which patches, by number, have other slips, and the rest that of the start."""
    values = [slips.get(i, patch.slip_at(0)) for i, patch in enumerate(ground.patches)]
    return SlipKernel((n, n), _painted(ground, n, ground.slip, values), blocked=blocked)


def slip_field(ground: Ground, n: int, t: int) -> Array:
    """Return the slip of every cell at time t, (S,)."""
    return _painted(ground, n, ground.slip, [patch.slip_at(t) for patch in ground.patches])


def _painted(ground: Ground, n: int, still: float, values: Iterable[float]) -> Array:
    """Return (S,) one value on the still ground and one on each patch, later patches over earlier ones."""
    field = np.full((n, n), float(still))
    for patch, value in zip(ground.patches, values, strict=True):
        (top, bottom), (left, right) = patch.rows, patch.columns
        field[top : bottom + 1, left : right + 1] = value
    return field.reshape(-1)


def _check_fit(patch: Patch, n: int) -> None:
    for name, (first, last) in (("rows", patch.rows), ("columns", patch.columns)):
        if not 0 <= first <= last < n:
            raise InputError(f"patch {name} {first} to {last} do not fit a {n} x {n} grid")


def _blocked(walls: Iterable[Sequence[int]], n: int) -> np.ndarray:
    blocked = np.zeros((n, n), dtype=bool)
    for top, left, bottom, right in walls:
        if not (0 <= top <= bottom < n and 0 <= left <= right < n):
            raise InputError(
                f"wall {[top, left, bottom, right]} is not first row, first column, last row, last column "
                f"within 0 to {n - 1}"
            )
        blocked[top : bottom + 1, left : right + 1] = True
    return blocked


def _cell(given: Sequence[int], n: int, name: str) -> tuple[int, int]:
    row, column = given
    if not (0 <= row < n and 0 <= column < n):
        raise InputError(f"{name} {list(given)} is not a cell of the {n} x {n} grid")
    return row, column
