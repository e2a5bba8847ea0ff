"""Worlds to run in."""
