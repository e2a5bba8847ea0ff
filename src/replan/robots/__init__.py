"""Robots that run other software: ROS 2 and its logs."""
