"""A robot whose behaviour tree (py_trees) replans when it is worth it.

`ReplanDue` succeeds when the agent's rule asks for an update; `MarkReplanned` tells the agent that a new plan
was made. Between them goes whatever replans on your robot: a planner's action client, a service call. Here
the agent plans itself, and the robot is simulated. Needs `pip install py_trees`.
"""

from __future__ import annotations

from collections.abc import Callable

import py_trees
from py_trees.common import Status

from replan import Agent, SimulatedRobot, load_setting, make_mission, make_rule


class ReplanDue(py_trees.behaviour.Behaviour):
    """Succeeds if the rule asks for an update now, and fails if it does not; `feedback_message` says why."""

    def __init__(self, agent: Agent, look: Callable[[], int], name: str = "replan due?") -> None:
        super().__init__(name)
        self.agent, self.look = agent, look

    def update(self) -> Status:
        """Ask the agent."""
        sees = self.agent.robot.sees
        decision = self.agent.due(self.look()) if sees else self.agent.due()
        self.feedback_message = decision.reason
        return Status.SUCCESS if decision.update else Status.FAILURE


class MarkReplanned(py_trees.behaviour.Behaviour):
    """Tells the agent that the robot has looked and has a new plan; fails if it was refused or kept."""

    def __init__(self, agent: Agent, look: Callable[[], int], name: str = "mark replanned") -> None:
        super().__init__(name)
        self.agent, self.look = agent, look

    def update(self) -> Status:
        """Spend an update."""
        done = self.agent.update(self.look())
        self.feedback_message = self.agent.log[-1].why
        return Status.SUCCESS if done else Status.FAILURE


class Drive(py_trees.behaviour.Behaviour):
    """Takes one step; it is running until the mission is over."""

    def __init__(self, agent: Agent, robot: SimulatedRobot) -> None:
        super().__init__("drive")
        self.agent, self.robot = agent, robot

    def update(self) -> Status:
        """Take the action of the plan in force."""
        sees = self.agent.robot.sees
        self.robot.do(self.agent.act(self.robot.look()) if sees else self.agent.act())
        return Status.SUCCESS if self.agent.done else Status.RUNNING


def make_tree(agent: Agent, robot: SimulatedRobot) -> py_trees.behaviour.Behaviour:
    """Return the tree: replan if that is due, and drive in any case."""
    replan = py_trees.composites.Sequence("replan", memory=False)
    replan.add_children([ReplanDue(agent, robot.look), MarkReplanned(agent, robot.look)])
    keep = py_trees.decorators.FailureIsSuccess("or keep the plan", replan)
    root = py_trees.composites.Sequence("mission", memory=False)
    root.add_children([keep, Drive(agent, robot)])
    return root


def main() -> None:
    mission = make_mission(load_setting("thin-ice-medium"), execution="localised")
    agent, robot = Agent.on(mission, make_rule("last-moment")), SimulatedRobot(mission.world, seed=0)
    agent.start(robot.look())
    tree = make_tree(agent, robot)
    while tree.status is not Status.SUCCESS:
        tree.tick_once()
    for event in agent.log:
        if event.what == "update":
            print(f"t = {event.time}: replanned; {event.why}")
    print(f"{agent.time} steps, {mission.limit - agent.budget_left} of {mission.limit} updates spent")


if __name__ == "__main__":
    main()
