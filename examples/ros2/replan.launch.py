"""Starts the scheduler beside Nav2: `replan ros`, or with `rclpy:=true` the rclpy node."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.conditions import IfCondition, UnlessCondition
from launch.substitutions import LaunchConfiguration

HERE = Path(__file__).resolve().parent


def generate_launch_description() -> LaunchDescription:
    """Return the processes to start."""
    setting, nav2, rclpy = (LaunchConfiguration(name) for name in ("setting", "nav2", "rclpy"))
    node = ["python3", str(HERE / "replan_node.py"), "--ros-args"]
    node += ["--params-file", str(HERE / "replan_params.yaml"), "-p", ["setting:=", setting]]
    return LaunchDescription(
        [
            DeclareLaunchArgument("setting", default_value=str(HERE / "robot.toml")),
            DeclareLaunchArgument("nav2", default_value="1.3", description="1.3 (and earlier), 1.4 or 1.5"),
            DeclareLaunchArgument("rclpy", default_value="false", description="true: the rclpy node"),
            ExecuteProcess(
                cmd=["replan", "ros", setting, "--nav2", nav2, "--snapshot", "replan-state"],
                output="screen",
                respawn=True,
                condition=UnlessCondition(rclpy),
            ),
            ExecuteProcess(cmd=node, output="screen", respawn=True, condition=IfCondition(rclpy)),
        ]
    )
