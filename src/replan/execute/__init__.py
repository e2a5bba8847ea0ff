"""The skip-update loop."""

from replan.execute.agent import Agent, Event
from replan.execute.mission import Mission, Update
from replan.execute.timeline import Timeline, timeline

__all__ = ["Agent", "Event", "Mission", "Timeline", "Update", "timeline"]
