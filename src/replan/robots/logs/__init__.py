"""Worlds from the logs of robots: rosbag2 recordings and tables."""
