"""Motion of sampled robots: by the kernels of a world, or by a simulator behind it.

Where the world is one slippery grid, whole intervals are sampled in one compiled loop. The numbers drawn and
the order of additions are those of stepping one by one, so the results are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from replan import _loops
from replan.model.kernel import Array, Indices
from replan.model.streams import uniforms
from replan.model.world import World
from replan.planning.backward_induction import GridOverTime
from replan.skip.propagation import MapPropagation, Propagation


@runtime_checkable
class Motion(Protocol):
    """Moves robots by one step."""

    def step(self, time: int, rows: Indices, states: Indices, actions: Indices) -> tuple[Indices, Array]:
        """Return (R,) next states and (R,) rewards of the robots `rows`, which are in (R,) states."""
        ...


class KernelMotion:
    """Samples the kernels of a world with the numbers of (N,) seeds."""

    def __init__(self, world: World, seeds: Indices) -> None:
        self.world = world
        self.numbers = uniforms(seeds[None, :], np.arange(world.horizon)[:, None])

    def step(self, time: int, rows: Indices, states: Indices, actions: Indices) -> tuple[Indices, Array]:
        """Return (R,) next states and (R,) rewards of the robots `rows`, which are in (R,) states."""
        following = self.world.kernel(time).sample(states, actions, self.numbers[time, rows])
        return following, self.world.reward(time).realised(states, actions, following)


def sample_walk(
    grid: GridOverTime,
    intervals: Mapping[int, Propagation],
    seeds: Indices,
    states: Indices,
    gained: Array,
    *,
    end: int,
) -> tuple[Indices, Array]:
    """(N,) states at `end` and what was `gained` till then, of robots that are in `states` when it begins.

    `intervals` tells by the time of each update, ascending, how the robots act from then on, which must be
    MAP execution.
    """
    begin, maps = min(intervals), [each for each in intervals.values() if isinstance(each, MapPropagation)]
    states, gained = states.copy(), gained.copy()
    _loops.stencil.slip_walk(
        *grid.shape,
        grid.blocked,
        grid.slip[begin:end],
        grid.law[begin:end],
        grid.reward if len(grid.reward) == 1 else grid.reward[begin:end],
        np.concatenate([each.policy for each in maps]),
        np.concatenate([each.following for each in maps]),
        _rows(maps, [*intervals, end]),
        np.isin(np.arange(begin, end), list(intervals)),
        seeds,
        begin,
        states,
        gained,
    )
    return states, gained


def _rows(maps: list[MapPropagation], times: list[int]) -> Indices:
    """(N,) row of the joined policies that is followed at each time from the first to before the last."""
    first, rows = 0, []
    for each, begin, end in zip(maps, times, times[1:], strict=False):
        rows.append(first + each.row(np.arange(begin, end)))
        first += len(each.policy)
    return np.concatenate(rows)
