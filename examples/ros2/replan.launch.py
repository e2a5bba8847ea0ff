"""Starts the scheduler beside Nav2: `replan ros`, or the rclpy node with `transport:=rclpy`."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.conditions import LaunchConfigurationEquals
from launch.substitutions import LaunchConfiguration

HERE = Path(__file__).parent


def generate_launch_description() -> LaunchDescription:
    """Return the processes to start."""
    setting, nav2 = LaunchConfiguration("setting"), LaunchConfiguration("nav2")
    return LaunchDescription(
        [
            DeclareLaunchArgument("setting", default_value=str(HERE / "robot.toml")),
            DeclareLaunchArgument("nav2", default_value="1.3", description="1.3 (and earlier), 1.4 or 1.5"),
            DeclareLaunchArgument("transport", default_value="dds", description="dds or rclpy"),
            ExecuteProcess(
                cmd=["replan", "ros", setting, "--nav2", nav2, "--snapshot", "replan-state"],
                output="screen",
                respawn=True,
                condition=LaunchConfigurationEquals("transport", "dds"),
            ),
            ExecuteProcess(
                cmd=[
                    "python3",
                    str(HERE / "replan_node.py"),
                    "--ros-args",
                    "--params-file",
                    str(HERE / "replan_params.yaml"),
                    "-p",
                    ["setting:=", setting],
                ],
                output="screen",
                respawn=True,
                condition=LaunchConfigurationEquals("transport", "rclpy"),
            ),
        ]
    )
