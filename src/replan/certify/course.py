"""The course of a mission: every update that its schedule can reach, and what the robot does after each.

Between updates nothing is seen, so the actions after an update are known for every state that it may find.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from replan.evaluate.exact import update_laws
from replan.execute.mission import Mission
from replan.model.kernel import Array, Indices
from replan.schedule.budget import FIRST_UPDATE
from replan.schedule.rule import Rule


@dataclass(frozen=True)
class Leg:
    """From one update to the next, for robots that saw X = S different states."""

    time: int
    left: int  # updates not yet spent
    actions: Indices = field(repr=False)  # (L, X)
    stops: Array = field(repr=False)  # (L, X) probability that the next update comes right after this step

    def __len__(self) -> int:
        return len(self.actions)

    def reached(self, successors: Indices) -> list[Array]:
        """(X, S) for each step, where a robot may be that saw x."""
        from replan.certify import compiled

        where = [np.eye(len(successors), dtype=bool)]
        for _ in range(len(self) - 1):
            where.append(compiled.spread_places(successors, where[-1]))
        return where


def legs(mission: Mission, rule: Rule) -> list[Leg]:
    """All legs that can happen, latest first."""
    everyone = np.arange(mission.world.states)
    found: dict[tuple[int, int], Leg] = {}
    waiting = [(0, mission.budget)]
    while waiting:
        time, left = waiting.pop()
        if (time, left) in found:
            continue
        laws = _first_law(mission) if time == 0 else update_laws(mission, rule, time, left, everyone)
        found[time, left] = _leg(mission, time, left, np.asarray(laws))
        ahead = np.flatnonzero(laws.any(axis=0))
        waiting += [(int(t), left - 1) for t in ahead if t < mission.horizon]
    return sorted(found.values(), key=lambda leg: -leg.time)


def _first_law(mission: Mission) -> Array:
    law = np.zeros((mission.world.states, mission.horizon + 1))
    law[:, FIRST_UPDATE] = 1.0
    return law


def _leg(mission: Mission, time: int, left: int, laws: Array) -> Leg:
    length = int(np.flatnonzero(laws.any(axis=0))[-1]) - time
    how = mission.update(time).propagation
    estimate = how.begin(np.arange(mission.world.states))
    actions = np.empty((length, len(laws)), dtype=np.int64)
    stops = np.ones((length, len(laws)))
    still = np.ones(len(laws))
    for k in range(length):
        actions[k] = how.act(estimate)
        estimate = how.advance(estimate, actions[k])
        stopping = laws[:, time + k + 1]
        stops[k] = np.divide(stopping, still, out=np.ones(len(laws)), where=still > 1e-15)
        still = still - stopping
    return Leg(time, left, actions, np.clip(stops, 0, 1))
