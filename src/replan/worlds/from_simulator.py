"""A world from a user's own continuous simulator.

The kernel of a step is counted: particles begin anywhere in a cell, take the step, and the cells in which
they end are its successors (Ulam's method). A displacement of 1.3 cells then ends one cell on with
probability .7 and two cells on with .3, as in `flow_grid`. All times see the same beginnings and the same
random numbers, so a simulator that does not change has one kernel: sampling noise does not become drift.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from replan.errors import InputError, require_whole
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Array, Indices, constant
from replan.model.reward import Reward
from replan.model.sizes import require_memory
from replan.worlds.simulation import SimulatedWorld, Simulation, Step, to_normal

NUMBERS_KEPT = 20_000_000
"""Kernels are kept between calls up to this many probabilities."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Cells of equal size between two values of each axis; the last axis runs fastest."""

    low: Array
    """(d,) lowest values."""
    high: Array
    """(d,) highest values."""
    counts: tuple[int, ...]
    """(d,) cells along each axis."""
    blocked: Callable[[Array], np.ndarray] | None = field(default=None, repr=False)
    """(N, d) positions -> (N,) bool: whether nothing can be there."""

    @classmethod
    def of(
        cls, cells: Sequence[tuple[float, float, int]], blocked: Callable[[Array], np.ndarray] | None
    ) -> Boxes:
        """Return the cells of (low, high, count) for each axis. Raises `InputError` if one is empty."""
        if not isinstance(cells, Iterable):
            raise InputError(f"cells must be (low, high, count) for each axis, not {cells!r}")
        for axis, part in enumerate(cells):
            numbers = _numbers(f"cells[{axis}]", part)
            finite = numbers.shape == (3,) and np.isfinite(numbers).all()
            if not finite or not numbers[0] < numbers[1] or numbers[2] < 1 or numbers[2] % 1:
                raise InputError(f"cells[{axis}] must be (low, high, count) with low < high, not {part!r}")
        if not len(cells):
            raise InputError("cells must be (low, high, count) for each axis, and there are none")
        low, high, counts = zip(*cells, strict=True)
        return cls(np.array(low, dtype=float), np.array(high, dtype=float), tuple(map(int, counts)), blocked)

    @cached_property
    def sides(self) -> Array:
        """(d,) sides of a cell."""
        return (self.high - self.low) / self.counts

    @cached_property
    def centres(self) -> Array:
        """(S, d) middle of each cell."""
        indices = np.stack(np.unravel_index(np.arange(prod(self.counts)), self.counts), axis=1)
        return self.low + (indices + 0.5) * self.sides

    @cached_property
    def solid(self) -> np.ndarray:
        """(S,) bool: cells in whose middle nothing can be."""
        if self.blocked is None:
            return np.zeros(len(self.centres), dtype=bool)
        solid = np.asarray(self.blocked(self.centres), dtype=bool)
        if solid.shape != (len(self.centres),):
            raise InputError(f"blocked must return {len(self.centres)} values, not {solid.shape}")
        return solid

    def find(self, positions: Array) -> Indices:
        """(N,) the cell of each position; beyond the edge the nearest one."""
        indices = np.floor((positions - self.low) / self.sides).astype(int)
        return np.asarray(np.ravel_multi_index(tuple(indices.T), self.counts, mode="clip"))


def from_simulator(
    step: Step,
    cells: Sequence[tuple[float, float, int]],
    actions: int,
    times: int,
    samples: int = 64,
    *,
    reward: Callable[[Array], Array],
    start: Sequence[float],
    noise: int = 0,
    blocked: Callable[[Array], np.ndarray] | None = None,
    seed: int = 0,
) -> SimulatedWorld:
    """Make a world of your own continuous simulator.

    Parameters
    ----------
    step : callable
        (positions, actions, t, numbers) -> next positions: one step of N particles at once. Positions are
        (N, d), actions (N,) whole numbers, t is the time, and numbers are (N, noise) standard normal numbers:
        all chance comes from them.
    cells : sequence of tuple
        (low, high, count) for each of the d axes. Positions beyond are put back to the edge.
    actions : int
        A, the number of actions.
    times : int
        T, the number of steps.
    samples : int
        Particles for each cell and action.
    reward : callable
        (N, d) positions that a step has led to -> (N,) its reward.
    start : sequence of float
        (d,) position at t = 0; the world begins in its cell.
    noise : int
        Random numbers that a step takes for each particle.
    blocked : callable, optional
        (N, d) positions -> (N,) bool: whether nothing can be there. Particles that would end there stay
        where they were.
    seed : int
        Seed of the sampling.

    Returns
    -------
    SimulatedWorld
        The world on cells; the first axis is its rows if there are two. `simulation` is the simulator.

    Raises
    ------
    InputError
        If cells are empty, the start is outside or blocked, or the simulator returns something else.
    """
    require_whole(actions=actions, times=times, samples=samples, noise=noise, seed=seed)
    if min(actions, samples) < 1 or noise < 0 or seed < 0:
        raise InputError("actions and samples must be at least 1, noise and seed at least 0")
    for name, function in (("step", step), ("reward", reward), ("blocked", blocked)):
        if not callable(function) and not (name == "blocked" and function is None):
            raise InputError(f"{name} must be a function, not {function!r}")
    boxes = Boxes.of(cells, blocked)
    where = _numbers("start", start)[None]
    if where.shape != (1, len(boxes.counts)) or not ((boxes.low <= where) & (where <= boxes.high)).all():
        raise InputError(f"start {where[0].tolist()} is not a position within the cells")
    first = int(boxes.find(where)[0])
    if boxes.solid[first]:
        raise InputError(f"start {where[0].tolist()} is blocked")
    size = len(boxes.centres) * actions * samples
    require_memory(4 * size // actions * (len(boxes.counts) + noise), f"{samples} particles in every cell")
    sampler = _Sampler(
        _stopping(step, boxes), boxes, actions, _draws(len(boxes.counts), noise, samples, seed)
    )
    return SimulatedWorld(
        horizon=times,
        kernel=lru_cache(maxsize=max(2, NUMBERS_KEPT // size))(sampler.kernel),
        reward=constant(Reward(next_state=_rewards(reward, boxes.centres))),
        start=first,
        start_states=np.flatnonzero(~boxes.solid),
        grid=(boxes.counts[0], boxes.counts[1]) if len(boxes.counts) == 2 else None,
        simulation=Simulation(
            sampler.step,
            boxes.centres,
            boxes.sides,
            boxes.find,
            lambda at: _rewards(reward, at),
            numbers=noise,
        ),
    )


@dataclass(frozen=True, eq=False)
class _Sampler:
    """Counts where particles end."""

    step: Step
    boxes: Boxes
    actions: int
    draws: Array  # (samples, d + noise) uniform numbers: place in the cell, then the random numbers of a step

    def kernel(self, t: int) -> GeneralKernel:
        """Return the kernel of step t."""
        boxes, (samples, _) = self.boxes, self.draws.shape
        states, d = boxes.centres.shape
        begin = (boxes.centres[:, None] + boxes.sides * (self.draws[:, :d] - 0.5)).reshape(-1, d)
        numbers = np.tile(to_normal(self.draws[:, d:]), (states, 1))
        ends = np.stack(
            [
                boxes.find(self.step(begin, np.full(len(begin), action), t, numbers)).reshape(states, samples)
                for action in range(self.actions)
            ],
            axis=1,
        )  # (S, A, samples)
        ends[boxes.solid] = np.flatnonzero(boxes.solid)[:, None, None]
        return _counted(ends)


def _counted(ends: Indices) -> GeneralKernel:
    """Return the kernel of (S, A, n) states in which particles ended."""
    states, actions, samples = ends.shape
    lists = [np.unique(row) for row in ends]
    width = max(map(len, lists))
    successors = np.array([np.pad(each, (0, width - len(each)), mode="edge") for each in lists])
    probabilities = np.zeros((states, actions, width))
    for s, each in enumerate(lists):
        for a in range(actions):
            found, counts = np.unique(ends[s, a], return_counts=True)
            probabilities[s, a, np.searchsorted(each, found)] = counts / samples
    return GeneralKernel(successors, probabilities)


def _stopping(step: Step, boxes: Boxes) -> Step:
    """Return the step with its result checked, inside the cells, and without entering what is blocked."""

    def checked(positions: Array, actions: Indices, t: int, numbers: Array) -> Array:
        reached = _numbers("what the simulator returns", step(positions, actions, t, numbers))
        if reached.shape != positions.shape or not np.isfinite(reached).all():
            raise InputError(
                f"the simulator must return {positions.shape} finite positions at t={t}, not {reached.shape}"
                if reached.shape != positions.shape
                else f"the simulator returned positions that are not finite at t={t}"
            )
        reached = np.clip(reached, boxes.low, boxes.high)
        stays = boxes.solid[boxes.find(reached)]
        return np.where(stays[:, None], positions, reached)

    return checked


def _draws(d: int, noise: int, samples: int, seed: int) -> Array:
    """(samples, d + noise) numbers that fill the unit cube evenly, above 0 and below 1."""
    from scipy.stats.qmc import Sobol

    sobol = Sobol(d + noise, rng=np.random.default_rng(seed))
    return np.clip(sobol.random(samples), 1e-9, 1 - 1e-9)


def _numbers(name: str, given: Any) -> Array:
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, not {given!r}") from None


def _rewards(reward: Callable[[Array], Array], positions: Array) -> Array:
    found = _numbers("what reward returns", reward(positions))
    if found.shape != (len(positions),):
        raise InputError(f"reward must return {len(positions)} numbers, not {found.shape}")
    return found
