"""A time-varying world as a Gymnasium environment that shows its state at every step, and its registration.

The observation is the time and the state, since the kernel depends on both. An episode ends with the horizon,
which is `terminated`, not `truncated`: there is no reward after it.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from replan.errors import InputError
from replan.model.world import World
from replan.worlds.mars_rover import Rover
from replan.worlds.parameters import Parameters
from replan.worlds.settings import Setting, load_setting, parse_setting
from replan.worlds.slip_grid import rover

WorldObservation = dict[str, np.int64]  # time and state

CELL, MARGIN = 16, 3
"""Pixels of a cell in pictures, and around the robot in it."""
DARKEST = 90
ROBOT = (213, 94, 0)
"""Colour of the robot, as red, green and blue."""


class WorldEnvironment(gymnasium.Env):
    """One robot in a world, from its start to its horizon.

    Parameters
    ----------
    world : World
        The world.
    render_mode : {"ansi", "rgb_array"}, optional
        How `render` draws; pictures are of grids.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012, pictures are only of grids
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 4,
    }

    def __init__(self, world: World, *, render_mode: str | None = None) -> None:
        if world.grid is None:
            self.metadata = {**self.metadata, "render_modes": ["ansi"]}
        known = (*self.metadata["render_modes"], None)
        if render_mode not in known:
            raise InputError(f"render_mode must be one of {known}, not {render_mode!r}")
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
    ) -> tuple[WorldObservation, dict[str, Any]]:
        """Return to t = 0; `options={"state": s}` starts in that state."""
        super().reset(seed=seed)
        state = (options or {}).get("state", self.world.start)
        if not self._states.contains(state):
            raise InputError(f"state {state!r} is not a state (0 to {self.world.states - 1})")
        self._time, self._state = 0, int(state)
        return self._observation(), {}

    def step(self, action: int) -> tuple[WorldObservation, float, bool, bool, dict[str, Any]]:
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

    def render(self) -> str | np.ndarray | None:
        """Return the grid as text or as an (H, W, 3) picture; as text without a grid, the state's number."""
        if self.render_mode is None:
            return None
        if self.render_mode == "rgb_array":
            return self._picture()
        if self.world.grid is None:
            return f"t={self._time} state {self._state}"
        rows, columns = self.world.grid
        cells = ["."] * (rows * columns)
        cells[self._state] = "R"
        lines = ["".join(cells[row * columns : (row + 1) * columns]) for row in range(rows)]
        return "\n".join([f"t={self._time}", *lines])

    def _picture(self) -> np.ndarray:
        """Draw the reward of the next step in grey, brighter for more reward, and the robot."""
        assert self.world.grid is not None
        reward = self.world.reward(min(self._time, self.horizon - 1))
        worth = reward.expected(self.world.kernel(min(self._time, self.horizon - 1))).max(axis=1)
        worth = worth if reward.next_state is None else reward.next_state
        span = max(float(np.ptp(worth)), 1e-12)
        grey = (DARKEST + (255 - DARKEST) * (worth - worth.min()) / span).astype(np.uint8)
        cells = np.repeat(grey.reshape(*self.world.grid, 1), 3, axis=2)
        picture = np.repeat(np.repeat(cells, CELL, axis=0), CELL, axis=1)
        row, column = np.array(divmod(self._state, self.world.grid[1])) * CELL
        picture[row + MARGIN : row + CELL - MARGIN, column + MARGIN : column + CELL - MARGIN] = ROBOT
        return picture

    def _observation(self) -> WorldObservation:
        return {"time": np.int64(self._time), "state": np.int64(self._state)}


SETTINGS = {  # environment -> the setting that `gymnasium.make` starts from
    "replan/Rover-v0": "two-burst",
    "replan/ThinIce-v0": "thin-ice-hard",
    "replan/Crosswind-v0": "crosswind-hard",
    "replan/Terrain-v0": "terrain-hard",
}


def register_environments() -> None:
    """Register the environments with Gymnasium; further calls change nothing."""
    for name, setting in SETTINGS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name, entry_point=f"{__name__}:make_environment", kwargs={"setting": setting}
            )


def make_environment(*, setting: str, render_mode: str | None = None, **options: Any) -> WorldEnvironment:
    """Return the environment of a setting.

    Parameters
    ----------
    setting : name of a built-in setting, or the path of a TOML file
    render_mode : "ansi", "rgb_array" for grids, or None
    options : parameters of the world to change. The `slip` of a rover may be a list, one for each step.
    """
    base = load_setting(setting)
    given = {name: _plain(value) for name, value in options.items()}
    return WorldEnvironment(_build(base, given), render_mode=render_mode)


def _build(base: Setting, options: dict[str, Any]) -> World:
    """Return the world of the setting with other parameters, those of its section included."""
    slips = options.pop("slip") if isinstance(options.get("slip"), list) else None
    record = base.model_dump(mode="json", exclude_none=True)
    for name, section in base:
        if isinstance(section, Parameters):
            own = type(section).model_fields.keys() & options.keys()
            record[name] |= {key: options.pop(key) for key in own}
    setting = parse_setting(record | options, where=base.world)
    if slips is None:
        return setting.build()
    if not isinstance(setting, Rover):
        raise InputError(f"{setting.world}: 'slip' must be a number, not {slips}")
    try:
        return rover(setting.n, slips, obstacles=[(cell[0], cell[1]) for cell in setting.obstacles])
    except (TypeError, ValueError) as error:
        raise InputError(f"rover: slip: {error}") from None


def _plain(value: Any) -> Any:
    """Return NumPy's numbers and arrays, and tuples, as numbers and lists."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value
