"""Worlds to run in."""

from replan.worlds.slip_grid import rover

__all__ = ["rover"]
