"""The bridge of RATS (Lecarpentier and Rachelson, NeurIPS 2019): published means beside exact values.

The published planners see the state, know P_t itself and plan anew at every step, by a search tree of `DEPTH`
steps that counts the reward of a terminal cell once more where it is reached above the last level. The one on
a snapshot assumes that P_t stays. The one on the future knows P_t, P_{t+1}, ... and when the episode ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from replan.model.kernel import Indices
from replan.model.world import World
from replan.planning.backward_induction import oracle_return
from replan.worlds.ns_bridge import PAYS, NSBridge

DEPTH = 4
ROUNDING = 12
"""Decimals of a value; equal ones go to the first action."""
SETTINGS = {
    "nsbridge-0": 0.0,
    "nsbridge-025": 0.25,
    "nsbridge-05": 0.5,
    "nsbridge-075": 0.75,
    "nsbridge-1": 1.0,
}
"""epsilon by setting."""
PUBLISHED = {
    "future": ((0.468, 0.021), (-0.034, 0.026), (-0.077, 0.018), (0.345, 0.016), (0.657, 0.006)),
    "snapshot": ((0.476, 0.021), (0.001, 0.026), (-0.463, 0.023), (-0.602, 0.019), (-0.780, 0.011)),
}
"""Mean and standard error of 1,008 episodes in each setting, by what the planner plans on."""
RATS = (-0.026, -0.357, -0.032, 0.353, 0.666)
"""Published mean of RATS itself in each setting."""


@dataclass(frozen=True)
class Comparison:
    """A published mean of one planner beside its exact value."""

    setting: str
    planner: str
    mean: float
    standard_error: float
    exact: float

    @property
    def standard_errors_apart(self) -> float:
        """Distance between mean and exact value, in standard errors."""
        return abs(self.mean - self.exact) / self.standard_error


def comparisons() -> Iterator[Comparison]:
    """Yield the ten published cells: five settings, planned on the future and on a snapshot."""
    for index, (setting, epsilon) in enumerate(SETTINGS.items()):
        world = NSBridge(epsilon=epsilon).build()
        for planner, cells in PUBLISHED.items():
            exact = planner_return(world, future=planner == "future")
            yield Comparison(setting, planner, *cells[index], exact)


def best_return(setting: str) -> float:
    """Return the expected return of the best policy that sees the state at every step."""
    world = NSBridge(epsilon=SETTINGS[setting]).build()
    return float(oracle_return(world)[world.start])


def planner_return(world: World, *, future: bool) -> float:
    """Return the exact expected return of a published planner on the bridge."""
    values, rows = np.zeros(world.states), np.arange(world.states)
    for time in reversed(range(world.horizon)):
        actions = planner_policy(world, time, future=future)
        values = world.reward(time).q_values(world.kernel(time), values)[rows, actions]
    return float(values[world.start])


def planner_policy(world: World, time: int, *, future: bool, discount: float = 0.9) -> Indices:
    """(S,) action that a published planner takes at `time`."""
    values = np.zeros(world.states)
    q_values = np.zeros((world.states, world.actions))
    for depth in reversed(range(DEPTH)):
        if future and time + depth >= world.horizon:
            values = PAYS
            continue
        q_values = world.kernel(time + depth if future else time).expect(PAYS + discount * values)
        values = np.where(PAYS != 0, PAYS, q_values.max(axis=1))
    return q_values.round(ROUNDING).argmax(axis=1)
