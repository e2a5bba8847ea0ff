"""Missions, and the loop for a robot."""

from replan.execute.agent import Agent
from replan.execute.mission import Mission
from replan.execute.robot import Robot
from replan.execute.snapshot import Event

__all__ = ["Agent", "Event", "Mission", "Robot"]
