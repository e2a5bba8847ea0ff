"""When to replan, as a Gymnasium environment: a localised robot acts on its plan, and the learner updates it.

At every step from t = 1 on the learner sees the time, the state, the age of the plan and the updates left,
and says whether to update before the robot acts. The expected sum of rewards of a policy is the return that
`evaluate` computes for the rule that decides alike.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from replan.errors import InputError, require
from replan.execute.mission import Mission, Progress

KEEP, UPDATE = 0, 1


class Replanning(gymnasium.Env):
    """A localised mission whose updates the learner chooses.

    An update that is not left, or while another one runs, is refused: the plan is kept, and `info["updated"]`
    is False. The price of an update is subtracted from the reward of its step.

    Parameters
    ----------
    mission : Mission
        The mission, of a robot with execution "localised".
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, mission: Mission) -> None:
        require(Mission, mission=mission)
        if not mission.robot.sees:
            raise InputError("this environment is for localised robots: execution localised")
        self.mission = mission
        world = mission.world
        self.action_space = spaces.Discrete(2)
        self.observation_space = spaces.Dict(
            time=spaces.Discrete(world.horizon + 1),
            state=spaces.Discrete(world.states),
            age=spaces.Discrete(world.horizon + 1),
            budget_left=spaces.Discrete(mission.limit + 1),
        )
        self._time, self._state = 0, world.start
        self._draws = len(mission.latency.durations) > 1
        self._progress: Progress = mission.beginning()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.int64], dict[str, Any]]:
        """Begin a mission; the step at t = 0 is taken on the free plan."""
        super().reset(seed=seed)
        self._time, self._state, self._progress = 0, self.mission.world.start, self.mission.beginning()
        gained = self._act()
        return self._observation(), {"reward": gained, "updated": False}

    def step(self, action: int) -> tuple[dict[str, np.int64], float, bool, bool, dict[str, Any]]:
        """Update or not, then let the robot act on its plan."""
        if self._time >= self.mission.horizon:
            raise InputError(f"all {self.mission.horizon} steps have been taken: call reset()")
        progress, drawn = self._progress, int(self.np_random.integers(2**31)) if self._draws else None
        updated = int(action) == UPDATE and progress.budget_left > 0 and self._time >= progress.update.arrival
        if updated:
            self._progress = self.mission.after(progress, self._time, seed=drawn)
        reward = self._act() - self.mission.spending.paid(float(updated))
        done = self._time >= self.mission.horizon
        return self._observation(), reward, done, False, {"updated": updated}

    def _act(self) -> float:
        world, t, here = self.mission.world, self._time, np.array([self._state])
        actions = self._progress.update.policy_at(t)[here]
        following = world.kernel(t).sample(here, actions, self.np_random.random(1))
        gained = float(world.reward(t).realised(here, actions, following)[0])
        self._time, self._state = t + 1, int(following[0])
        return gained

    def _observation(self) -> dict[str, np.int64]:
        progress = self._progress
        return {
            "time": np.int64(self._time),
            "state": np.int64(self._state),
            "age": np.int64(self._time - progress.last_update),
            "budget_left": np.int64(progress.budget_left),
        }
