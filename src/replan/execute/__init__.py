"""The skip-update loop."""

from replan.execute.agent import Agent
from replan.execute.equipment import Equipment
from replan.execute.memory import Event
from replan.execute.mission import Mission, Update
from replan.execute.timeline import Timeline, timeline

__all__ = ["Agent", "Equipment", "Event", "Mission", "Timeline", "Update", "timeline"]
