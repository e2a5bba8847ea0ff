"""The skip-update loop."""

from replan.execute.agent import Agent, Event
from replan.execute.mission import Mission, Update

__all__ = ["Agent", "Event", "Mission", "Update"]
