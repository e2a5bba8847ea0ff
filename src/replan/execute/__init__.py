"""Missions, and the loop for a robot."""
