"""The scheduler of `replan ros` as an rclpy node, for robots whose middleware is not Cyclone DDS.

It needs a sourced ROS 2 with Nav2's messages, and `replan` (without extras) in the same Python. All decisions
come from `SchedulerService`, as in `replan ros`; only the transport is rclpy's. Services, topics and
parameters: see docs/ros2.md and replan_params.yaml.

    python3 replan_node.py --ros-args --params-file replan_params.yaml
"""

from __future__ import annotations

import json
from concurrent.futures import Future
from contextlib import suppress

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav2_msgs.srv import IsPathValid
from nav_msgs.msg import OccupancyGrid, Path
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from replan.robots import SchedulerReport, SchedulerService, TransformTree, load_scheduler, occupancy_of

THREADS = 8  # an answer holds one until the planner's own check has answered through another
DEFAULTS = {
    "setting": "robot.toml",
    "rule": "",  # that of the setting
    "service": "/replan/is_path_valid",
    "planner": "/is_path_valid",
    "plan_topic": "/plan",
    "pose_topic": "/amcl_pose",
    "costmap_topic": "/local_costmap/costmap",
    "map_frame": "map",
    "patience": 5.0,
    "decision_limit": 0.05,
    "planner_limit": 0.05,
    "snapshot": "",
}


class ReplanNode(Node):
    """Answers IsPathValid with "no" when an update is due."""

    def __init__(self) -> None:
        super().__init__("replan")
        for name, default in DEFAULTS.items():
            self.declare_parameter(name, default)
        given = {name: self.get_parameter(name).value for name in DEFAULTS}
        scheduler = load_scheduler(given["setting"], rule=given["rule"], patience=given["patience"])
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        kept = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._due = self.create_publisher(Bool, "/replan/due", kept)
        self.scheduler = SchedulerService(
            scheduler,
            decision_limit=given["decision_limit"],
            planner_limit=given["planner_limit"],
            snapshot=given["snapshot"] or None,
            publish=self._publish,
            clock=lambda: self.get_clock().now().nanoseconds * 1e-9,
        )
        group = ReentrantCallbackGroup()
        self._planner = None
        if given["planner"]:
            self._planner = self.create_client(IsPathValid, given["planner"], callback_group=group)
        self.create_service(IsPathValid, given["service"], self._answer, callback_group=group)
        for name in ("due", "status"):
            self.create_service(Trigger, f"/replan/{name}", self._trigger(name), callback_group=group)
        self.create_subscription(Path, given["plan_topic"], self._on_path, 10, callback_group=group)
        often = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.create_subscription(PoseWithCovarianceStamped, given["pose_topic"], self._on_pose, often)
        if given["costmap_topic"]:
            self._tree, self._map_frame = TransformTree(), given["map_frame"]
            self.create_subscription(OccupancyGrid, given["costmap_topic"], self._on_costmap, often)
            self.create_subscription(TFMessage, "/tf", self._on_transforms, 100)
            self.create_subscription(TFMessage, "/tf_static", self._on_transforms, kept)
        self.create_timer(min(1.0, scheduler.setting.step_seconds), self.scheduler.tick)

    def _on_pose(self, message) -> None:
        position, covariance = message.pose.pose.position, np.array(message.pose.covariance)
        self.scheduler.on_pose((position.x, position.y), covariance.reshape(6, 6)[:2, :2])

    def _on_transforms(self, message) -> None:
        self._tree.add(message.transforms)

    def _on_costmap(self, message) -> None:
        frame, stamp = self._tree.pose(message.header.frame_id, within=self._map_frame), message.header.stamp
        if frame is not None:
            self.scheduler.on_costmap(occupancy_of(message, frame), stamp.sec + stamp.nanosec * 1e-9)

    def _on_path(self, message) -> None:
        points = [(pose.pose.position.x, pose.pose.position.y) for pose in message.poses]
        stamp = message.header.stamp
        self.scheduler.on_path(np.array(points).reshape(-1, 2), stamp.sec + stamp.nanosec * 1e-9)

    def _answer(self, request, response):
        answer = self.scheduler.answer(None if self._planner is None else self._forward(request))
        if "success" in response.get_fields_and_field_types():  # Nav2 1.5
            response.success = True
        response.is_valid = answer.valid
        response.invalid_pose_indices = answer.invalid_poses
        return response

    def _forward(self, request) -> Future:
        """Ask the planner's own check; a future that never ends where there is none."""
        reply: Future = Future()
        if self._planner.service_is_ready():
            pending = self._planner.call_async(request)
            pending.add_done_callback(
                lambda _: reply.set_running_or_notify_cancel() and reply.set_result(pending.result())
            )
            reply.add_done_callback(lambda _: self._planner.remove_pending_request(pending))
        return reply

    def _trigger(self, name: str):
        def handle(_, response):
            in_time, status = self.scheduler.status()
            response.success = in_time and (name == "status" or bool(status.get("due")))
            response.message = json.dumps(status, default=float)
            return response

        return handle

    def _publish(self, report: SchedulerReport) -> None:
        values = [KeyValue(key=name, value=text) for name, text in report.values.items()]
        status = DiagnosticStatus(
            level=bytes([report.level]), name="replan", message=report.message, values=values
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)
        self._due.publish(Bool(data=report.due))


def main() -> None:
    rclpy.init()
    node = ReplanNode()
    executor = MultiThreadedExecutor(num_threads=THREADS)
    executor.add_node(node)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        executor.spin()
    with suppress(KeyboardInterrupt):
        node.scheduler.settle()


if __name__ == "__main__":
    main()
