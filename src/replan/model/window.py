"""Part of a large world as a world of its own.

In n steps a robot on a grid moves at most n cells away. A window that reaches n cells beyond some states
therefore holds every cell whose kernel or reward can matter to robots that set out there, for n steps; its
artificial border, at which moves stay, is met by none of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from weakref import ref

import numpy as np

from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.model.world import World

KEPT = 64
"""Kernels and rewards that are kept in their restricted form, those used last."""
LARGE = 2_500
"""States up to which a world is left whole."""
WORTH_IT = 0.7
"""Share of the whole that a window may have."""


@dataclass(frozen=True, eq=False)
class Window:
    """Rows and columns of a grid; cells keep their order."""

    grid: tuple[int, int]
    """Rows and columns of the whole."""
    corner: tuple[int, int]
    """Row and column of its first cell."""
    shape: tuple[int, int]
    """Its own rows and columns."""
    _kept: dict = field(default_factory=dict, repr=False)

    @classmethod
    def around(cls, grid: tuple[int, int], states: Indices, reach: int) -> Window:
        """Return the cells that are at most `reach` rows and columns away from states."""
        at = np.divmod(np.asarray(states), grid[1])
        first = [max(int(each.min()) - reach, 0) for each in at]
        last = [min(int(each.max()) + reach + 1, size) for each, size in zip(at, grid, strict=True)]
        return cls(grid, (first[0], first[1]), (last[0] - first[0], last[1] - first[1]))

    @property
    def states(self) -> int:
        """Number of its cells."""
        return self.shape[0] * self.shape[1]

    @property
    def pays(self) -> bool:
        """Whether it is so much smaller than the whole that work on it takes less."""
        return self.states <= WORTH_IT * self.grid[0] * self.grid[1]

    def inside(self, states: Indices) -> Indices:
        """Return cells of the whole as cells of the window."""
        i, j = np.divmod(states, self.grid[1])
        return (i - self.corner[0]) * self.shape[1] + j - self.corner[1]

    def outside(self, states: Indices) -> Indices:
        """Return cells of the window as cells of the whole."""
        i, j = np.divmod(states, self.shape[1])
        return (i + self.corner[0]) * self.grid[1] + j + self.corner[1]

    def cut(self, per_cell: Array) -> Array:
        """Return the entries of (S, ...) that belong to cells of the window."""
        (top, left), (rows, columns) = self.corner, self.shape
        cells = per_cell.reshape(*self.grid, *per_cell.shape[1:])
        part = cells[top : top + rows, left : left + columns]
        return np.ascontiguousarray(part).reshape(self.states, *per_cell.shape[1:])

    def kernel(self, kernel: Kernel) -> Kernel:
        """Return a kernel in the window; moves out of it stay."""
        return self._once(kernel, self._cut_kernel)

    def reward(self, reward: Reward) -> Reward:
        """Return a reward in the window."""
        return self._once(reward, self._cut_reward)

    def world(self, world: World) -> World:
        """Return a world in the window, with the drift bounds of the whole; its start must lie within."""
        declared = world.declared_successors
        return replace(
            world,
            kernel=lambda t: self.kernel(world.kernel(t)),
            reward=lambda t: self.reward(world.reward(t)),
            start=int(self.inside(np.array(world.start))),
            stated_bounds=world.drift_bounds,
            start_states=None,
            grid=self.shape,
            declared_successors=None if declared is None else self._successors(declared),
            family=None if world.family is None else world.family.within(self.kernel),
        )

    def _once(self, whole, restrict):
        """Return the same object for the same object, as `World.kernel` promises."""
        known, part = self._kept.pop(id(whole), (None, None))
        if known is None or known() is not whole:
            known, part = ref(whole), restrict(whole)
        self._kept[id(whole)] = known, part
        while len(self._kept) > KEPT:
            self._kept.pop(next(iter(self._kept)))
        return part

    def _cut_kernel(self, kernel: Kernel) -> Kernel:
        if isinstance(kernel, SlipKernel):
            slip = kernel.slip if kernel.slip.size == 1 else self.cut(kernel.slip)
            blocked = None if kernel.blocked.size == 1 else self.cut(kernel.blocked)
            return SlipKernel(self.shape, slip, law=kernel.law, blocked=blocked)
        lists = kernel.general()
        return GeneralKernel(self._successors(lists.successors), self.cut(lists.probabilities))

    def _cut_reward(self, reward: Reward) -> Reward:
        parts = (reward.state_action, reward.next_state)
        return Reward(*(None if part is None else self.cut(part) for part in parts))

    def _successors(self, successors: Indices) -> Indices:
        """(S, k) in the window; a successor beyond it is the state itself."""
        (top, left), (rows, columns) = self.corner, self.shape
        i, j = np.divmod(self.cut(successors), self.grid[1])
        within = (i >= top) & (i < top + rows) & (j >= left) & (j < left + columns)
        here = np.arange(self.states)[:, None]
        return np.where(within, (i - top) * columns + j - left, here)
