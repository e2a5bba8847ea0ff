"""One simulated mission with everything that the agent decided on the way."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from replan.estimate.estimator import Estimator
from replan.execute.agent import Agent
from replan.execute.mission import Mission
from replan.model.kernel import Indices
from replan.model.streams import uniforms
from replan.schedule.rule import Decision, Rule, draws


@dataclass(frozen=True)
class Trace:
    """What happened at every step."""

    times: tuple[int, ...]  # of the updates
    decisions: list[tuple[int, Decision]] = field(repr=False)  # of every t from 1 on
    states: Indices = field(repr=False)  # (T + 1,) true states
    believed: Indices = field(repr=False)  # (T,) believed states, the most likely one of a belief
    actions: Indices = field(repr=False)  # (T,)


def trace_mission(
    mission: Mission, rule: Rule, *, seed: int = 0, estimator: Estimator | None = None
) -> Trace:
    """Run an agent through the mission once; seed and world see the numbers that rollouts see."""
    world = mission.world
    agent = Agent.on(mission, rule.with_seed(seed) if draws(rule) else rule, estimator=estimator)
    state = world.start
    agent.start(state)
    times, decisions, states, believed, actions = [], [], [state], [], []
    previous = None
    while not agent.done:
        t = agent.time
        decision = agent.due()
        if t > 0:
            decisions.append((t, decision))
        if decision.update:
            agent.update(state, previous)
            times.append(t)
        believed.append(int(agent.estimate if mission.execution == "map" else np.argmax(agent.estimate)))
        action = agent.act()
        previous = state
        row = np.array([state]), np.array([action]), uniforms([seed], t)
        state = int(world.kernel(t).sample(*row)[0])
        states.append(state)
        actions.append(action)
    return Trace(tuple(times), decisions, np.array(states), np.array(believed), np.array(actions))
