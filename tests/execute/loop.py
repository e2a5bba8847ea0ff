"""The robot's loop, and what can go wrong in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event as Signal
from typing import Any

import numpy as np

from replan import Agent, Mission, Observation, TrueKernel
from replan.model.streams import uniforms
from replan.schedule.rule import Context, Decision, Rule

PATIENCE = 60.0  # seconds: no limit that healthy work could come near
AT_ONCE = 0.01


def with_robot(mission: Mission, **changes: Any) -> Mission:
    """The mission of a robot with these changes."""
    return replace(mission, robot=replace(mission.robot, **changes))


def fly(
    agent: Agent, mission: Mission, *, seed: int = 0, until: int | None = None, state: int | None = None
) -> int:
    """Run the loop of the module's docstring; the state at the end."""
    if state is None:
        state = mission.world.start
        agent.start(state)
    while not agent.done and agent.time != until:
        if agent.due().update:
            agent.update(state)
        t = agent.time
        row = np.array([state]), np.array([agent.act()]), uniforms([seed], t)
        state = int(mission.world.kernel(t).sample(*row)[0])
    return state


def events(agent: Agent, what: str) -> list[int]:
    return [event.time for event in agent.log if event.what == what]


@dataclass
class Faulty:
    """Raises at some times, at others hangs until it is released, else hands out the true kernel."""

    inner: TrueKernel
    fail_at: tuple[int, ...] = ()
    hang_at: tuple[int, ...] = ()
    hangs: Signal = field(default_factory=Signal)
    released: Signal = field(default_factory=Signal)
    asked: list[Observation] = field(default_factory=list)
    learned: list[int] = field(default_factory=list)

    def begin(self):
        return {}

    def estimate(self, learned, observation):
        self.asked.append(observation)
        if observation.time in self.fail_at:
            raise RuntimeError("no lock on the beacon")
        if observation.time in self.hang_at:
            self.hangs.set()
            assert self.released.wait(PATIENCE)
        self.learned.append(observation.time)
        return self.inner.estimate(learned, observation)


@dataclass(frozen=True)
class Deciding(Rule):
    """A rule that decides as it is told."""

    how: Callable[[Context], Decision]

    name = "deciding"

    def decide(self, context: Context) -> Decision:
        return self.how(context)
