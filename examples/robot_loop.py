"""Put replan into a robot's loop: at every step it says whether to look, what to do, and why.

The robot below is simulated; in yours, `look` asks the localisation and `do` sends a command. Nothing else
of the loop changes. The agent knows the kernels of the past only, and looks four times in fifty steps.
"""

from __future__ import annotations

import numpy as np

from replan import ACTIONS, Agent, Mission, load_setting, make_mission, make_rule


class SimulatedRobot:
    """A rover on slippery ground that knows where it is only when asked to look."""

    def __init__(self, mission: Mission, *, seed: int) -> None:
        self.world = mission.world
        self.state, self.time = mission.world.start, 0
        self.earned = 0.0
        self._random = np.random.default_rng(seed)

    def look(self) -> int:
        """Find out where it is: a satellite fix, a relocalisation, a person with a map."""
        return self.state

    def do(self, action: int) -> None:
        """One step over the ground as it is now."""
        here, how = np.array([self.state]), np.array([action])
        there = self.world.kernel(self.time).sample(here, how, self._random.random(1))
        self.earned += float(self.world.reward(self.time).realised(here, how, there)[0])
        self.state, self.time = int(there[0]), self.time + 1


def drive(mission: Mission, agent: Agent, robot: SimulatedRobot) -> list[str]:
    """The loop, and a line for each look."""
    lines = []
    agent.start(robot.look())
    while not agent.done:
        decision = agent.due()
        if decision.update:
            believed = cell(mission, agent.estimate)
            agent.update(robot.look())
            seen = cell(mission, robot.state)
            lines.append(f"t={agent.time:2d} looked: believed {believed}, is at {seen}; {decision.reason}")
        robot.do(agent.act())
    return lines


def cell(mission: Mission, state: int) -> tuple[int, int]:
    """Row and column."""
    row, column = divmod(int(state), mission.world.grid[1])
    return row, column


def main() -> None:
    mission = make_mission(load_setting("two-burst"))
    agent = Agent.on(mission, make_rule("lookahead"))
    robot = SimulatedRobot(mission, seed=0)
    print("\n".join(drive(mission, agent, robot)))
    moves = [event.action for event in agent.log if event.what == "act"]
    counts = ", ".join(f"{moves.count(a)} {name}" for a, name in enumerate(ACTIONS))
    print(f"{mission.horizon} steps ({counts}), {mission.limit - agent.budget_left} updates")
    print(f"the robot stands at {cell(mission, robot.state)} and earned {robot.earned:.2f}")


if __name__ == "__main__":
    main()
