"""The robot that the pages' loops speak to: it walks the two-burst world and knows where it is."""

from __future__ import annotations

import numpy as np

from replan import load_setting, make_mission


class StandInRobot:
    """`look` tells the state, `do` takes one step."""

    def __init__(self) -> None:
        self.world = make_mission(load_setting("two-burst")).world
        self.state = self.world.start
        self.steps = 0
        self._random = np.random.default_rng(0)

    def look(self) -> int:
        """Where it is."""
        return self.state

    def do(self, action: int) -> None:
        """One step; after the last one the world begins anew, since a page may hold several loops."""
        kernel = self.world.kernel(self.steps % self.world.horizon)
        after = kernel.sample(np.array([self.state]), np.array([action]), self._random.random(1))
        self.state = int(after[0])
        self.steps += 1
