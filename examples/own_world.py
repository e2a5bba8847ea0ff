"""Bring your own world: from arrays, and from a Gymnasium environment that has a model.

The arrays are a gate that jams: a robot waits in front of it, passes, or takes the stairs. The environment is
Gymnasium's frozen lake, thawing: one lake for each step, each a little more slippery. Both drift fast, so
that a forecast matters: a look-ahead that believes in the kernel it saw last can lose to an even spacing.
"""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import numpy as np

from replan import (
    Given,
    Lookahead,
    Mission,
    Periodic,
    Robot,
    Spending,
    World,
    check_world,
    evaluate,
    from_arrays,
    from_gymnasium,
    optimum,
)

OUTSIDE, STAIRS, INSIDE = range(3)
GATE, CLIMB = range(2)


def jamming_gate(horizon: int = 12) -> World:
    """The gate opens less and less often; the stairs always work, in two steps. Inside pays 1 a step."""
    kernels = np.zeros((horizon, 3, 2, 3))
    opens = np.linspace(0.9, 0.1, horizon)
    kernels[:, OUTSIDE, GATE, INSIDE] = opens
    kernels[:, OUTSIDE, GATE, OUTSIDE] = 1 - opens
    kernels[:, OUTSIDE, CLIMB, STAIRS] = 1.0
    kernels[:, STAIRS, GATE, OUTSIDE] = 1.0
    kernels[:, STAIRS, CLIMB, INSIDE] = 1.0
    kernels[:, INSIDE, :, INSIDE] = 0.8
    kernels[:, INSIDE, :, OUTSIDE] = 0.2  # called out again
    rewards = np.array([0.0, 0.0, 1.0])  # of the next state
    return from_arrays(kernels, rewards, start=OUTSIDE)


def thawing_lake(horizon: int = 24) -> World:
    """The chance that a step goes where it should falls from 1 to 1/2."""
    rates = np.linspace(1.0, 0.5, horizon)
    return from_gymnasium([gymnasium.make("FrozenLake-v1", success_rate=rate) for rate in rates])


def main() -> None:
    for name, world, budget in (
        ("jamming gate", jamming_gate(), 4),
        ("thawing lake", thawing_lake(), 5),
    ):
        faults = check_world(world)
        print(f"{name}: {world.states} states, {world.horizon} steps, {len(faults)} faults found")
        mission = Mission(world, Robot(planning_horizon=world.horizon), Spending.exactly(budget))
        foretold = replace(mission, robot=replace(mission.robot, forecast=Given(world.kernel)))
        robots = {
            "periodic": (mission, Periodic()),
            "lookahead": (mission, Lookahead()),  # believes that the world stays as it is
            "lookahead, future given": (foretold, Lookahead()),
        }
        for label, (robot, rule) in robots.items():
            found = evaluate(robot, rule)
            print(f"  {label:<23} return {found.expected_return:6.3f}   regret {found.regret:.3f}")
        floor = optimum(mission)
        print(f"  best with {budget} updates     regret {floor.feedback_regret:.3f}")
        print(f"  seeing all, always      return {floor.oracle_return:6.3f}")


if __name__ == "__main__":
    main()
