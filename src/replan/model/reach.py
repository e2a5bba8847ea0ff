"""The states of a large world that a robot can reach, as a smaller world.

Values, bounds and distributions of a robot t steps after its start depend on the states to which t steps can
lead, and on no others. A part that holds these, and those to which the steps of a plan made there can lead,
gives the same numbers as the whole world; its artificial border, at which steps stay, is met by no robot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self
from weakref import ref

import numpy as np

from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.model.world import World

KEPT = 64
"""Kernels and rewards that are kept in their restricted form, those used last."""


class Reach:
    """Some states of a world, as states of a smaller one."""

    whole: int
    """Number of states of the whole world."""
    states: Indices
    """(N,) the states of the whole, in the order of the part."""
    counts: tuple[int, ...]
    """The first counts[t] states are those to which t steps can lead; empty: not in that order."""
    shape: tuple[int, int] | None = None
    """Rows and columns, if the part is a window of a grid."""

    def __init__(self, whole: int, states: Indices, counts: tuple[int, ...] = ()) -> None:
        self.whole, self.states, self.counts = whole, states, counts
        self._kept: dict[int, tuple] = {}

    @classmethod
    def everything(cls, states: int, steps: int) -> Self:
        """Return all states, in their own order, for every number of steps."""
        return cls(states, np.arange(states), (states,) * (steps + 1))

    @classmethod
    def from_start(cls, successors: Sequence[Indices], start: int, steps: int) -> Self:
        """Return the states to which steps can lead, in the order in which they do.

        Parameters
        ----------
        successors : sequence of (S, k) arrays
            Where a step can lead from each state, by one or several kernels; a row may repeat a state.
        start : int
            State at the beginning.
        steps : int
            Largest number of steps.
        """
        seen = np.zeros(len(successors[0]), dtype=bool)
        seen[start] = True
        rings = [np.array([start])]
        for _ in range(steps):
            near = np.unique(np.concatenate([lists[rings[-1]].reshape(-1) for lists in successors]))
            rings.append(near[~seen[near]])
            seen[near] = True
        counts = np.cumsum([len(ring) for ring in rings])
        return cls(len(seen), np.concatenate(rings), tuple(int(count) for count in counts))

    def in_order(self) -> Reach:
        """Return the same states in the order that they have in the whole."""
        return Reach(self.whole, np.sort(self.states))

    def inside(self, states: Indices) -> Indices:
        """Return states of the whole as states of the part."""
        return self._place[states]

    def outside(self, states: Indices) -> Indices:
        """Return states of the part as states of the whole."""
        return self.states[states]

    def cut(self, per_state: Array) -> Array:
        """Return the entries of (S, ...) that belong to states of the part."""
        return per_state[self.states]

    def successors(self, lists: Indices) -> Indices:
        """(N, k) lists (S, k) of states; a state outside becomes the row's own."""
        found = self._place[self.cut(lists)]
        return np.where(found < 0, np.arange(len(found))[:, None], found)

    def kernel(self, kernel: Kernel) -> Kernel:
        """Return a kernel on the part; steps out of it stay. The same kernel gives the same object."""
        return self._once(kernel, self._cut_kernel)

    def reward(self, reward: Reward) -> Reward:
        """Return a reward on the part. The same reward gives the same object."""
        return self._once(reward, self._cut_reward)

    def nested_reward(self, reward: Callable[[int], Reward]) -> Callable[[int], Reward]:
        """Return rewards of the states that t steps lead to, and of next states one step later."""

        def part(of: Array | None, count: int) -> Array | None:
            return None if of is None else of[self.states[:count]]

        def at(t: int) -> Reward:
            whole = reward(t)
            return Reward(
                part(whole.state_action, self.counts[t]), part(whole.next_state, self.counts[t + 1])
            )

        return at

    def world(self, world: World) -> World:
        """Return a world on the part, with the drift bounds of the whole; its start must lie within."""
        declared = world.declared_successors
        return replace(
            world,
            kernel=lambda t: self.kernel(world.kernel(t)),
            reward=lambda t: self.reward(world.reward(t)),
            start=int(self.inside(np.array(world.start))),
            stated_bounds=world.drift_bounds,
            start_states=None,
            grid=self.shape,
            part=self,
            past=None,
            declared_successors=None if declared is None else self.successors(declared),
            family=None if world.family is None else world.family.within(self.kernel),
        )

    @cached_property
    def _place(self) -> Indices:
        """(S,) the place of each state of the whole; -1 outside."""
        place = np.full(self.whole, -1)
        place[self.states] = np.arange(len(self.states))
        return place

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
        lists = kernel.general()
        return GeneralKernel(self.successors(lists.successors), self.cut(lists.probabilities))

    def _cut_reward(self, reward: Reward) -> Reward:
        parts = (reward.state_action, reward.next_state)
        return Reward(*(None if part is None else self.cut(part) for part in parts))


class Window(Reach):
    """Rows and columns of a grid, on which a `SlipKernel` stays one; cells keep their order."""

    shape: tuple[int, int]
    """Its rows and columns."""

    def __init__(self, grid: tuple[int, int], corner: tuple[int, int], shape: tuple[int, int]) -> None:
        rows, columns = (first + np.arange(size) for first, size in zip(corner, shape, strict=True))
        super().__init__(grid[0] * grid[1], np.add.outer(rows * grid[1], columns).reshape(-1))
        self.grid, self.corner, self.shape = grid, corner, shape

    @classmethod
    def around(cls, grid: tuple[int, int], states: Indices, steps: int) -> Self:
        """Return the cells at most `steps` rows and columns away from states: moves lead to next cells."""
        at = np.divmod(np.asarray(states), grid[1])
        first = [max(int(each.min()) - steps, 0) for each in at]
        last = [min(int(each.max()) + steps + 1, size) for each, size in zip(at, grid, strict=True)]
        return cls(grid, (first[0], first[1]), (last[0] - first[0], last[1] - first[1]))

    def inside(self, states: Indices) -> Indices:
        """Return cells of the whole as cells of the window."""
        i, j = np.divmod(states, self.grid[1])
        return (i - self.corner[0]) * self.shape[1] + j - self.corner[1]

    def _cut_kernel(self, kernel: Kernel) -> Kernel:
        if not isinstance(kernel, SlipKernel):
            return super()._cut_kernel(kernel)
        slip = kernel.slip if kernel.slip.size == 1 else self.cut(kernel.slip)
        blocked = None if kernel.blocked.size == 1 else self.cut(kernel.blocked)
        return SlipKernel(self.shape, slip, law=kernel.law, blocked=blocked)


def crop(world: World, steps: int, sources: Iterable[Kernel] = (), *, share: float = 1.0) -> World | None:
    """Return the world on the states to which its start can lead; None unless these are a small part.

    Parameters
    ----------
    world : World
        The world.
    steps : int
        Largest number of steps, those of the mission and those that a plan looks further.
    sources : iterable of Kernel
        Kernels by which steps are expected to lead, beside the world's own.
    share : float
        Largest part of the states that is worth cutting out.

    Returns
    -------
    World, optional
        A world whose `part` tells which of the states it has.
    """
    kernels, expected = [world.kernel(t) for t in range(world.horizon)], list(sources)
    if world.grid is not None and isinstance(kernels[0], SlipKernel):
        window = Window.around(world.grid, np.array([world.start]), steps)
        on_grid = all(
            isinstance(each, SlipKernel) and each.shape == world.grid for each in kernels + expected
        )
        return window.world(world) if on_grid and len(window.states) <= share * world.states else None
    lists: list[Indices] = []
    for kernel in kernels + expected:
        successors = kernel.general().successors
        if not any(successors is known or np.array_equal(successors, known) for known in lists):
            lists.append(successors)
    part = Reach.from_start(lists, world.start, steps).in_order()
    return part.world(world) if len(part.states) <= share * world.states else None
