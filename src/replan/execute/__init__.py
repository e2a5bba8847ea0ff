"""The loop."""

from replan.execute.agent import Agent
from replan.execute.config import AgentConfig, Planner, Progress, Update, plan_by_induction
from replan.execute.memory import Event
from replan.execute.mission import Mission
from replan.execute.simulated_robot import SimulatedRobot
from replan.execute.timeline import Timeline, make_timeline

__all__ = [
    "Agent",
    "AgentConfig",
    "Event",
    "Mission",
    "Planner",
    "Progress",
    "SimulatedRobot",
    "Timeline",
    "Update",
    "make_timeline",
    "plan_by_induction",
]
