"""Worlds to run in, their parameters, and settings: a world together with a mission in it."""
