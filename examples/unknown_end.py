"""A mission whose end is not known: give it the most steps that it may take, and a goal that absorbs.

The robot drives over ground that becomes slippery until it stands at the goal, whenever that is. T is the
most steps that anyone would let it drive. At the goal nothing moves and nothing costs, so the steps after
the arrival count for nothing. A price for each update takes the place of a budget: a budget that must be
spent would be spread over all of T, and its last updates come after the arrival.
"""

from __future__ import annotations

import numpy as np

from replan import (
    Agent,
    GeneralKernel,
    Kernel,
    Lookahead,
    Mission,
    Periodic,
    Reward,
    Robot,
    SimulatedRobot,
    SlipKernel,
    Spending,
    World,
    evaluate,
    linear,
)

SIDE = 6
GOAL = SIDE * SIDE - 1
PRICE = 0.01


def absorbing(kernel: SlipKernel) -> Kernel:
    """The same kernel, but who is at the goal stays there."""
    lists = kernel.general()
    successors, probabilities = lists.successors.copy(), lists.probabilities.copy()
    successors[GOAL], probabilities[GOAL] = GOAL, 1 / probabilities.shape[2]
    return GeneralKernel(successors, probabilities)


def to_the_goal(most_steps: int) -> World:
    """A world that ends, for all that counts, when the robot is at the goal."""
    slips = linear(most_steps, slip=0.2, rate=0.01)
    kernels = [absorbing(SlipKernel((SIDE, SIDE), slip)) for slip in slips]
    cost = np.full((SIDE * SIDE, 5), -1 / 20)
    cost[GOAL] = 0.0
    reward = Reward(state_action=cost)
    return World(most_steps, kernels.__getitem__, lambda t: reward)


def mission_of(most_steps: int, spending: Spending) -> Mission:
    """Plans look to the end: no step before the arrival is worth more than another."""
    return Mission(to_the_goal(most_steps), Robot(planning_horizon=most_steps), spending)


def drive(mission: Mission, *, seed: int) -> int:
    """Drive until a look shows the goal, or until T; return the number of steps."""
    agent, robot = Agent.on(mission, Lookahead()), SimulatedRobot(mission.world, seed=seed)
    agent.start(robot.look())
    while not agent.done:
        if agent.due().update:
            seen = robot.look()
            if seen == GOAL:
                break  # this look ends the mission: there is nothing left to plan
            agent.update(seen)
        robot.do(agent.act())
    return agent.time


def main() -> None:
    for steps in (24, 36, 48):
        priced = evaluate(mission_of(steps, Spending.at_price(PRICE)), Lookahead(), all_starts=False)
        spread = evaluate(mission_of(steps, Spending.exactly(3)), Periodic(), all_starts=False)
        print(
            f"at most {steps} steps: cost {-priced.expected_return:.3f} with {priced.expected_updates:.2f} "
            f"updates at a price; cost {-spread.expected_return:.3f} with 3 updates spread over T"
        )
    driven = [drive(mission_of(36, Spending.at_price(PRICE)), seed=seed) for seed in range(10)]
    print(f"ten drives end after {min(driven)} to {max(driven)} steps")


if __name__ == "__main__":
    main()
