"""A robot in a simulated world, for trying an `Agent`."""

from __future__ import annotations

import numpy as np

from replan.model.streams import uniforms
from replan.model.world import World


class SimulatedRobot:
    """Walks a world with the random numbers of a seed, the same that rollouts draw."""

    def __init__(self, world: World, *, seed: int = 0) -> None:
        self.world, self.seed = world, seed
        self.state, self.time, self.total_reward = world.start, 0, 0.0

    def look(self) -> int:
        """Return the state."""
        return self.state

    def do(self, action: int) -> None:
        """Take one step."""
        t, here, taken = self.time, np.array([self.state]), np.array([action])
        following = self.world.kernel(t).sample(here, taken, uniforms([self.seed], t))
        self.total_reward += float(self.world.reward(t).realised(here, taken, following)[0])
        self.state, self.time = int(following[0]), t + 1
