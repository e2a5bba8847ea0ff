"""A time-varying world as a Gymnasium environment that shows its state at every step.

The observation is the time and the state, since the kernel depends on both. An episode ends with the horizon,
which is `terminated`, not `truncated`: there is no reward after it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from replan.errors import InputError
from replan.model import TVMDP

Observation = dict[str, np.int64]  # time and state


class WorldEnvironment(gymnasium.Env):
    """One robot in the world, from its start to its horizon."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, world: TVMDP, *, render_mode: str | None = None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InputError(f'render_mode must be "ansi" or None, not {render_mode!r}')
        self.world = world
        self.render_mode = render_mode
        self._states = spaces.Discrete(world.states)
        self.observation_space = spaces.Dict(time=spaces.Discrete(world.horizon + 1), state=self._states)
        self.action_space = spaces.Discrete(world.actions)
        self._time, self._state = 0, world.start

    @property
    def horizon(self) -> int:
        """T, the number of steps of an episode."""
        return self.world.horizon

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Return to t = 0; `options={"state": s}` starts in that state."""
        super().reset(seed=seed)
        state = (options or {}).get("state", self.world.start)
        if not self._states.contains(state):
            raise InputError(f"state {state!r} is not a state (0 to {self.world.states - 1})")
        self._time, self._state = 0, int(state)
        return self._observation(), {}

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one step under the kernel of the present time."""
        if self._time >= self.horizon:
            raise InputError(f"all {self.horizon} steps have been taken: call reset()")
        if not self.action_space.contains(action):
            raise InputError(f"action {action} is not an action (0 to {self.world.actions - 1})")
        states, actions = np.array([self._state]), np.array([action], dtype=np.int64)
        number = np.array([self.np_random.random()])
        following = self.world.kernel(self._time).sample(states, actions, number)
        reward = self.world.reward(self._time).realised(states, actions, following)
        self._time, self._state = self._time + 1, int(following[0])
        return self._observation(), float(reward[0]), self._time == self.horizon, False, {}

    def render(self) -> str | None:
        """Return the grid as text with the robot as R; without a grid, the number of the state."""
        if self.render_mode is None:
            return None
        if self.world.grid is None:
            return f"t={self._time} state {self._state}"
        rows, columns = self.world.grid
        cells = ["."] * (rows * columns)
        cells[self._state] = "R"
        lines = ["".join(cells[row * columns : (row + 1) * columns]) for row in range(rows)]
        return "\n".join([f"t={self._time}", *lines])

    def _observation(self) -> Observation:
        return {"time": np.int64(self._time), "state": np.int64(self._state)}
