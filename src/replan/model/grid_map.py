"""What lies on the cells of a grid world, as data for whoever draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from replan.model.flow_kernel import FlowKernel
from replan.model.kernel import Kernel
from replan.model.slip import SlipKernel

if TYPE_CHECKING:
    from replan.model.world import World

DISTANCE_SCALE = 20.0
"""Moves to the goal that cost a reward of 1 in each step."""
SEARCHED = 20_000_000
"""States times steps up to which cells are searched for drift."""


@dataclass(frozen=True)
class GridMap:
    """What lies on a grid; cells are states, row by row."""

    rows: int
    columns: int
    start: int
    goals: tuple[int, ...]
    walls: tuple[int, ...]
    costly: tuple[int, ...]
    drifting: dict[int, float]
    """Greatest drift of each cell over that of the whole world, if cells differ."""
    flow: dict[int, tuple[float, float]]
    """Rows and columns by which the flow carries a vehicle that drifts in a cell at t = 0."""


def grid_map(world: World) -> GridMap | None:
    """Return the map of a world; None if its states are not cells."""
    if world.grid is None:
        return None
    rewards, kernel = world.reward(0).next_state, world.kernel(0)
    goals, walls = np.zeros(world.states, dtype=bool), _walls(kernel)
    if rewards is not None and np.ptp(rewards) > 0:
        goals = rewards == rewards.max()
    return GridMap(
        *world.grid,
        start=world.start,
        goals=_cells(goals),
        walls=_cells(walls),
        costly=_cells(_costly(world, walls)),
        drifting=_drifting(world),
        flow=_flow(kernel),
    )


def _cells(chosen: np.ndarray) -> tuple[int, ...]:
    return tuple(np.flatnonzero(chosen).tolist())


def _walls(kernel: Kernel) -> np.ndarray:
    """(S,) bool: cells that are never entered."""
    if isinstance(kernel, FlowKernel):
        return kernel.land
    blocked = kernel.blocked if isinstance(kernel, SlipKernel) else False
    return np.broadcast_to(blocked, kernel.states)


def _costly(world: World, walls: np.ndarray) -> np.ndarray:
    """(S,) bool: cells on ground with a lower reward than all around it, by more than two steps on the way.

    Walls lie between grounds. On maps whose reward counts steps, and in a flow, nothing is costly.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    reward, states = world.reward(0), np.arange(world.states).reshape(world.grid)
    value, kernel = reward.next_state, world.kernel(0)
    steps = isinstance(kernel, SlipKernel) and reward.state_action is not None
    if value is None or steps or isinstance(kernel, FlowKernel):
        return np.zeros(world.states, dtype=bool)
    down, right = (states[:-1], states[1:]), (states[:, :-1], states[:, 1:])
    here, there = (np.concatenate([down[k].ravel(), right[k].ravel()]) for k in range(2))
    free = ~(walls[here] | walls[there])
    here, there = here[free], there[free]
    apart = np.abs(value[here] - value[there]) > 2 / DISTANCE_SCALE
    pairs = here[~apart], there[~apart]
    links = coo_array((np.ones(len(pairs[0])), pairs), shape=(world.states, world.states))
    ground = connected_components(links, directed=False)[1]
    here, there = here[apart], there[apart]
    falls = value[here] < value[there]
    lower, higher = np.where(falls, here, there), np.where(falls, there, here)
    inside = np.isin(ground, ground[lower]) & ~np.isin(ground, ground[higher])
    return inside & (ground != ground[world.start])


def _flow(kernel: Kernel) -> dict[int, tuple[float, float]]:
    if not isinstance(kernel, FlowKernel):
        return {}
    rows, columns = kernel.drift.T.tolist()
    return {state: (rows[state], columns[state]) for state in _cells(~kernel.land)}


def _drifting(world: World) -> dict[int, float]:
    """Return the cells that drift, unless one slip drifts for all of them or the world is large."""
    if world.states * world.horizon > SEARCHED:
        return {}
    greatest, now, one_slip = np.zeros(world.states), world.kernel(0), True
    for t in range(1, world.horizon):
        following = world.kernel(t)
        if following is not now:
            greatest = np.maximum(greatest, now.entrywise_distance(following).max(axis=1))
            one_slip &= isinstance(following, SlipKernel) and np.ptp(following.slip) == 0
        now = following
    if one_slip or not greatest.any():
        return {}
    share = greatest / greatest.max()
    return {int(state): round(float(share[state]), 3) for state in np.flatnonzero(share > 0.005)}
