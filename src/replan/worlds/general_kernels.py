"""Worlds whose states have no place: kernels from arrays in a file, and kernels drawn at random."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Annotated

import numpy as np
from pydantic import Field, field_validator

from replan.model.array_worlds import load_npz
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Array, constant
from replan.model.reward import Reward
from replan.model.streams import WORLD, uniforms
from replan.model.world import World
from replan.worlds.parameters import Horizon, Whole, WorldParameters, register_world

PEAK = 3
"""Power of the drawn weights: larger ones leave fewer successors likely."""


@register_world("arrays")
class Arrays(WorldParameters):
    """A world whose kernels and rewards are arrays (see `replan.load_npz`)."""

    file: str
    """Path of the .npz file, beside the setting's file or from the working directory."""
    horizon: Horizon | None = None
    """Steps, T; needed if the file holds one kernel."""

    def build(self) -> World:
        """Return the checked world. Drift bounds that it states are used even if they are wrong."""
        return load_npz(self.file, horizon=self.horizon)


@register_world("random-kernels")
class RandomKernels(WorldParameters):
    """Kernels and rewards drawn at random, which change into other drawn ones.

    Every state has its own few successors, shared by all actions. At each of the times `knots` a kernel drawn
    for it is in force; in between, probabilities go in a straight line from one to the next. All draws come
    from counter-based streams of the seed, so the same parameters make the same world everywhere.
    """

    states: Annotated[int, Field(ge=2, le=10_000)] = 30
    """States, S."""
    actions: Annotated[int, Field(ge=2, le=1_000)] = 4
    """Actions, A."""
    successors: Whole = 4
    """Successors of each state, at most S."""
    seed: Annotated[int, Field(ge=0, le=2**62)] = 0
    """Seed of successors, probabilities and rewards."""
    knots: Annotated[list[int], Field(min_length=1)] = Field(default=[0, 20], examples=[[0, 20]])
    """Times at which a drawn kernel is in force, ascending; the first holds before, the last stays."""
    horizon: Horizon = 40
    """Steps, T."""

    @field_validator("knots")
    @classmethod
    def _ascending(cls, value: list[int]) -> list[int]:
        if any(later <= earlier for earlier, later in pairwise(value)):
            raise ValueError(f"must ascend, not {value}")
        return value

    def build(self) -> World:
        """Return the world. It starts in state 0; the reward of the next state lies between -1 and 0."""
        width = min(self.successors, self.states)
        order = self._draw(0, self.states * self.states).reshape(self.states, self.states)
        lists = np.argsort(order, axis=1, kind="stable")[:, :width]
        drawn = [self._probabilities(2 + i, width) for i in range(len(self.knots))]
        rewards = -self._draw(1, self.states)

        @cache
        def kernel(position: float) -> GeneralKernel:
            before = int(position)
            after, share = min(before + 1, len(drawn) - 1), position - before
            return GeneralKernel(lists, (1 - share) * drawn[before] + share * drawn[after])

        positions = np.interp(np.arange(self.horizon), self.knots, np.arange(len(self.knots)))
        return World(
            horizon=self.horizon,
            kernel=lambda t: kernel(float(positions[t])),
            reward=constant(Reward(next_state=rewards)),
            declared_successors=lists,
        )

    def _probabilities(self, array: int, width: int) -> Array:
        """Return drawn probabilities, (S, A, k)."""
        shape = (self.states, self.actions, width)
        weights = (1 - self._draw(array, int(np.prod(shape))).reshape(shape)) ** -PEAK - 1 + 1e-3
        return weights / weights.sum(axis=2, keepdims=True)

    def _draw(self, array: int, count: int) -> Array:
        """Return `count` uniform numbers of the array of that number."""
        return uniforms(self.seed, array * 2**40 + np.arange(count), WORLD)
