"""The skip-update loop."""

from replan.execute.mission import Mission, Update

__all__ = ["Mission", "Update"]
