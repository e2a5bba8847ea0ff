"""The slippery grid of the paper's example 1, built from a slip for each time. It needs no pydantic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError, read_array, require_whole, shown
from replan.model.family import Family
from replan.model.grid_map import DISTANCE_SCALE
from replan.model.kernel import Array, constant
from replan.model.reward import Reward
from replan.model.sizes import require_memory
from replan.model.slip import slip_over_time
from replan.model.world import World


def rover(
    n: int,
    slip: ArrayLike,
    *,
    start: tuple[int, int] = (0, 0),
    goal: tuple[int, int] | None = None,
    obstacles: Iterable[tuple[int, int]] = (),
    terrain: ArrayLike | None = None,
    stated_bounds: ArrayLike | None = None,
) -> World:
    """Return the paper's Mars rover: a slippery grid with a goal.

    The reward is -d1(s', goal) / 20 for the realised next cell. A blocked cell is never entered.

    Parameters
    ----------
    n : int
        Rows and columns of the grid; the state of cell (i, j) is i * n + j.
    slip : array_like, (T,)
        Probability at each time that a move goes in a random direction.
    start, goal : tuple of int
        Row and column; the goal is the far corner by default.
    obstacles : iterable of tuple of int
        Row and column of each blocked cell.
    terrain : array_like, (n, n), optional
        Factor by which the slip of each cell is multiplied.
    stated_bounds : array_like, (T - 1,), optional
        Drift bounds that rules are given in place of the true drift.

    Returns
    -------
    World

    Raises
    ------
    InputError
        If an obstacle lies outside the grid, on the start or on the goal.

    Examples
    --------
    >>> from replan import rover
    >>> rover(4, [0.1, 0.2, 0.3]).horizon
    3
    """
    require_whole(n=n)
    if n < 1:
        raise InputError(f"n must be at least 1, not {n}")
    require_memory(20 * n**2, f"a grid of {n} x {n} cells")
    slip = read_array("slip", slip)
    if slip.ndim != 1 or not slip.size:
        raise InputError(f"slip must be a number for each time, not of the shape {slip.shape}")
    goal = (n - 1, n - 1) if goal is None else goal
    start, goal = _cell("start", start, n), _cell("goal", goal, n)
    blocked = _blocked(n, obstacles, keep_free=(start, goal))
    factor = np.ones(1) if terrain is None else read_array("terrain", terrain).reshape(-1)
    kernel = slip_over_time((n, n), slip, factor, blocked=blocked)
    return World(
        horizon=len(slip),
        kernel=kernel,
        reward=constant(Reward(next_state=-distances(n, goal) / DISTANCE_SCALE)),
        start=start[0] * n + start[1],
        stated_bounds=None if stated_bounds is None else read_array("drift bounds", stated_bounds),
        start_states=None if blocked is None else np.flatnonzero(~blocked),
        grid=(n, n),
        declared_successors=None if blocked is None else kernel(0).destinations(),
        family=Family.of_one_slip(kernel(0)) if terrain is None else None,
    )


def _cell(name: str, cell: object, n: int) -> tuple[int, int]:
    if not isinstance(cell, Sequence) or len(cell) != 2:
        raise InputError(f"{name} must be a row and a column, not {cell!r}")
    row, column = cell
    require_whole(**{f"the row of {name}": row, f"the column of {name}": column})
    if not (0 <= row < n and 0 <= column < n):
        raise InputError(f"{name} {tuple(cell)} lies outside the {n} x {n} grid")
    return row, column


def distances(n: int, goal: tuple[int, int]) -> Array:
    """Return (S,) the L1 distance of every cell to the goal."""
    i, j = np.divmod(np.arange(n * n), n)
    return (np.abs(i - goal[0]) + np.abs(j - goal[1])).astype(float)


def _blocked(
    n: int, obstacles: Iterable[tuple[int, int]], *, keep_free: Iterable[tuple[int, int]]
) -> np.ndarray | None:
    if not isinstance(obstacles, Iterable):
        raise InputError(f"obstacles must be a list of rows and columns, not {shown(obstacles)}")
    blocked = np.zeros((n, n), dtype=bool)
    for obstacle in obstacles:
        cell = _cell("obstacle", obstacle, n)
        if cell in keep_free:
            raise InputError(f"obstacle {cell} lies on the start or the goal")
        blocked[cell] = True
    return blocked.reshape(-1) if blocked.any() else None
