"""Optimal values of the whole time-varying world: V*_t of the appendix's "Value Functions".

Over a grid several steps of backward induction are made in one pass over memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from replan import _loops
from replan.model.bands import in_bands
from replan.model.grid_over_time import GridOverTime, grid_over_time_of
from replan.model.kernel import Array
from replan.model.memory import require_memory
from replan.model.slip import NONE_CHOSEN, STEPS_PER_PASS, SlipKernel
from replan.model.tvmdp import TVMDP


@dataclass(frozen=True)
class Oracle:
    """Optimal values of a robot that knows all kernels and sees its state at every step."""

    world: TVMDP
    values: Array = field(repr=False)
    """(T + 1, S) V*_t."""

    def q_values(self, t: int) -> Array:
        """(S, A) Q*_t."""
        return self.world.reward(t).q_values(self.world.kernel(t), self.values[t + 1])

    def loss(self, t: int) -> Array:
        """(S, A) V*_t - Q*_t, the loss of each action."""
        return self.values[t][:, None] - self.q_values(t)


def oracle(world: TVMDP) -> Oracle:
    """Return the optimal values of every time and state."""
    require_oracle_memory(world)
    values = np.empty((world.horizon + 1, world.states))
    values[-1] = 0.0
    if (grid := swept_grid(world)) is not None:
        for begin, end in _passes(world.horizon):
            _sweep(grid, values[end], values[begin:end], begin=begin, end=end)
        return Oracle(world, values)
    for t in range(world.horizon - 1, -1, -1):
        world.reward(t).backup(world.kernel(t), values[t + 1], out=values[t])
    return Oracle(world, values)


def require_oracle_memory(world: TVMDP) -> int:
    """Raise `InputError` if the oracle's values would not fit into memory; return how many there are."""
    numbers = (world.horizon + 1) * world.states
    require_memory(numbers, "the oracle's value of every time and state")
    return numbers


def oracle_return(world: TVMDP) -> Array:
    """(S,) V*_0 alone, in the memory of two value functions."""
    values, spare = np.zeros(world.states), np.empty(world.states)
    if (grid := swept_grid(world)) is not None:
        for begin, end in _passes(world.horizon):
            _sweep(grid, values, spare, begin=begin, end=end)
            values, spare = spare, values
        return values
    for t in range(world.horizon - 1, -1, -1):
        values, spare = world.reward(t).backup(world.kernel(t), values, out=spare), values
    return values


def swept_grid(world: TVMDP) -> GridOverTime | None:
    """Return a world that is a grid with one slip per time and one reward, else None."""
    kernel = world.kernel(0)
    if not isinstance(kernel, SlipKernel) or kernel.slip.size > 1:
        return None
    grid = grid_over_time_of(world)
    return grid if grid is not None and len(grid.reward) == 1 else None


def _sweep(grid: GridOverTime, values: Array, out: Array, *, begin: int, end: int) -> None:
    """Write V*_begin to V*_{end-1} (or, where `out` has one row, V*_begin alone) from (S,) V*_end."""
    rows, columns = grid.shape
    in_bands(
        _loops.grid_passes.induction,
        rows,
        rows * columns,
        end - begin,
        grid.slip[begin:end],
        grid.law[begin:end],
        grid.blocked,
        values.reshape(grid.shape),
        grid.reward.reshape(grid.shape),
        0.0,
        out.reshape(-1, rows, columns),
        NONE_CHOSEN.reshape(0, columns),
    )


def _passes(horizon: int) -> Iterator[tuple[int, int]]:
    """Yield the times [begin, end) of each pass, from the last back to the first."""
    for end in range(horizon, 0, -STEPS_PER_PASS):
        yield max(end - STEPS_PER_PASS, 0), end
