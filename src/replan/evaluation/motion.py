"""Motion of sampled robots: by the kernels of a world, or by a simulator behind it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from replan.model.kernel import Array, Indices
from replan.model.streams import uniforms
from replan.model.world import World


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
