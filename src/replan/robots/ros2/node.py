"""The scheduler as a ROS 2 process over DDS: the transport of `replan ros` (extra `ros`)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from replan.errors import InputError
from replan.robots.planar_transforms import TransformTree, occupancy_of, pose_of
from replan.robots.ros2 import messages
from replan.robots.ros2.dds import Bus, Call
from replan.robots.ros2.messages import REQUESTS, RESPONSES, TYPE_HASHES, Distro, Nav2, shape_of
from replan.robots.ros2.scheduler_service import SchedulerReport, SchedulerService

PoseSource = Literal["pose", "tf", "odometry"]
OLDEST: Nav2 = "1.3"
TICK = 1.0  # seconds between looks at the clock, at most


@dataclass(frozen=True)
class Names:
    """Topics, services and frames of the robot. An empty name leaves a topic or service out."""

    service: str = "/replan/is_path_valid"
    planner: str = "/is_path_valid"
    plan: str = "/plan"
    map: str = ""
    costmap: str = "/local_costmap/costmap"
    pose: str = "/amcl_pose"
    odometry: str = "/odom"
    pose_from: PoseSource = "pose"
    map_frame: str = "map"
    base_frame: str = "base_link"


class Ros2Scheduler:
    """Serves IsPathValid and publishes every decision."""

    def __init__(
        self,
        bus: Bus,
        make_service: Callable[[Callable[[SchedulerReport], None], Callable[[], float]], SchedulerService],
        *,
        names: Names = Names(),  # noqa: B008 (frozen)
        nav2: Nav2 = "1.3",
        sim_time: bool = False,
        node: tuple[str, Distro] | None = None,
        log: Callable[[str], None] = print,
    ) -> None:
        self.bus, self.names, self.refused = bus, names, 0
        self.nav2: Nav2 = nav2
        self._log, self._tree = log, TransformTree()
        self._hashed: dict[int, str | None] = {}  # version of each client by its type hash
        self._last_refused = (0, 0)
        self._answering: set[threading.Thread] = set()
        self._sim_time = 0.0 if sim_time else None
        self._diagnostics = bus.publisher("/diagnostics", messages.DiagnosticArray)
        self._due = bus.publisher("/replan/due", messages.Bool, latched=True)
        self.service = make_service(self._publish, self._now)
        self._planner = None
        if names.planner:
            self._planner = bus.client(names.planner, REQUESTS[nav2], RESPONSES[nav2])
        self._reply = bus.serve(names.service, REQUESTS[nav2], RESPONSES[nav2], self._on_request)
        if nav2 != OLDEST:  # DDS drops requests too short for this version; the oldest shape fits them all
            bus.watch(names.service, REQUESTS[OLDEST], self._refuse_other_shapes)
        self._serve_trigger("/replan/due", lambda status: bool(status.get("due")))
        self._serve_trigger("/replan/status", lambda status: True)
        self._subscribe()
        if node is not None:
            announce(bus, *node)

    def run(self, stop: threading.Event) -> None:
        """Serve until `stop` is set."""
        period = min(TICK, self.service.scheduler.setting.step_seconds)
        last = -period
        while not stop.is_set():
            self.bus.spin(min(period, 0.1))
            if time.monotonic() - last >= period:
                last = time.monotonic()
                self.service.tick()
        self._finish()

    def _finish(self) -> None:
        """Answer the requests that have come, as far as the time limits allow."""
        limit = time.monotonic() + self.service.decision_limit + self.service.planner_limit + 0.1
        while self._answering and time.monotonic() < limit:
            self.bus.spin(0.02)

    def _subscribe(self) -> None:
        names = self.names
        self.bus.subscribe(names.plan, messages.Path, self._on_path)
        if names.map:
            self.bus.subscribe(names.map, messages.OccupancyGrid, self._on_map, latched=True)
        if names.costmap:
            self.bus.subscribe(names.costmap, messages.OccupancyGrid, self._on_costmap, reliable=False)
        if names.pose_from == "pose":
            self.bus.subscribe(names.pose, messages.PoseWithCovarianceStamped, self._on_pose, reliable=False)
        if names.pose_from != "pose" or names.costmap:
            for topic, latched in (("/tf", False), ("/tf_static", True)):
                self.bus.subscribe(
                    topic,
                    messages.TFMessage,
                    self._on_transforms,
                    latched=latched,
                    reliable=latched,
                    depth=100,
                )
        if names.pose_from == "odometry":
            self.bus.subscribe(names.odometry, messages.Odometry, self._on_pose, reliable=False)
        if self._sim_time is not None:
            self.bus.subscribe("/clock", messages.Clock, self._on_clock, reliable=False, depth=1)

    def _now(self) -> float:
        return time.time() if self._sim_time is None else self._sim_time

    def _on_clock(self, message: Any) -> None:
        self._sim_time = messages.seconds_of(message.clock)

    def _on_pose(self, message: Any) -> None:
        """Take a pose with covariance, of a localiser or of odometry."""
        frame = self._tree.pose(message.header.frame_id, within=self.names.map_frame)
        if frame is None:
            return
        pose = frame.then(pose_of(message.pose.pose))
        block = np.array(message.pose.covariance).reshape(6, 6)[:2, :2]
        c, s = np.cos(frame.yaw), np.sin(frame.yaw)
        turn = np.array([[c, -s], [s, c]])
        self.service.on_pose((pose.x, pose.y), turn @ block @ turn.T)

    def _on_transforms(self, message: Any) -> None:
        self._tree.add(message.transforms)
        if self.names.pose_from == "tf":
            pose = self._tree.pose(self.names.base_frame, within=self.names.map_frame)
            if pose is not None:
                self.service.on_pose((pose.x, pose.y))

    def _on_path(self, message: Any) -> None:
        if message.header.frame_id.lstrip("/") not in ("", self.names.map_frame.lstrip("/")):
            self._trouble(f"a path in the frame {message.header.frame_id!r}, not {self.names.map_frame!r}")
            return
        points = np.array([(p.pose.position.x, p.pose.position.y) for p in message.poses]).reshape(-1, 2)
        self.service.on_path(points, messages.seconds_of(message.header.stamp))

    def _on_map(self, message: Any) -> None:
        try:
            self.service.on_map(occupancy_of(message))
        except InputError as error:
            self._trouble(f"a map that cannot be used: {error}")

    def _on_costmap(self, message: Any) -> None:
        frame = self._tree.pose(message.header.frame_id, within=self.names.map_frame)
        if frame is None:
            return
        try:
            costmap = occupancy_of(message, frame)
        except InputError as error:
            self._trouble(f"a costmap that cannot be used: {error}")
            return
        self.service.on_costmap(costmap, messages.seconds_of(message.header.stamp))

    def _on_request(self, call: Call) -> None:
        if not self._refuse_other_shapes(call):
            thread = threading.Thread(target=self._answer, args=(call,), daemon=True)
            self._answering.add(thread)
            thread.start()

    def _answer(self, call: Call) -> None:
        pending = None
        if self._planner is not None:
            pending = self._planner.forward(call) if self._planner.ready else Future()
        answer = self.service.answer(pending)
        response = RESPONSES[self.nav2](is_valid=answer.valid, invalid_pose_indices=answer.invalid_poses)
        if self.nav2 == "1.5":
            response.success = True
        self._reply(call, response)
        self._answering.discard(threading.current_thread())

    def _refuse_other_shapes(self, call: Call) -> bool:
        """Return whether the request has another shape than --nav2 says; the first one is reported."""
        if call.sender not in self._hashed:
            hashed = self.bus.type_hash(call)
            self._hashed[call.sender] = None if hashed is None else TYPE_HASHES.get(hashed, "of another kind")
        shape = self._hashed[call.sender] or shape_of(call.data) or "of another kind"
        if shape == self.nav2:
            return False
        if (call.guid, call.seq) != self._last_refused:
            self.refused += 1
            self._last_refused = (call.guid, call.seq)
        self._trouble(f"a request of Nav2 {shape} to a server of Nav2 {self.nav2}: start with --nav2 {shape}")
        return True

    def _serve_trigger(self, name: str, success: Callable[[dict[str, Any]], bool]) -> None:
        def handle(call: Call) -> None:
            def answer() -> None:
                in_time, status = self.service.status()
                text = json.dumps(status, default=float)
                reply(call, messages.TriggerResponse(success=in_time and success(status), message=text))

            threading.Thread(target=answer, daemon=True).start()

        reply = self.bus.serve(name, messages.TriggerRequest, messages.TriggerResponse, handle)

    def _publish(self, report: SchedulerReport) -> None:
        values = [messages.KeyValue(name, text) for name, text in report.values.items()]
        status = messages.DiagnosticStatus(report.level, "replan", report.message, "", values)
        self._diagnostics(
            messages.DiagnosticArray(messages.Header(messages.make_stamp(self._now())), [status])
        )
        self._due(messages.Bool(report.due))

    def _trouble(self, text: str) -> None:
        if self.service.trouble != text:
            self.service.trouble = text
            self._log(text)


def announce(bus: Bus, name: str, distro: Distro) -> None:
    """Publish all endpoints of the bus as those of one node of ROS 2's graph.

    ROS 2 learns of nodes from the topic `ros_discovery_info`. The identities in it have 16 bytes in Jazzy and
    24 in Humble; the wrong size disturbs other nodes' view of the graph.
    """
    gid, node, participant = (
        messages.message_type(f"rmw_dds_common/msg/{kind}", distro)
        for kind in ("Gid", "NodeEntitiesInfo", "ParticipantEntitiesInfo")
    )
    size = len(gid().data)

    def identity(guid: bytes) -> Any:
        return gid(list(guid.ljust(size, b"\0")))

    readers, writers = bus.endpoints()
    shown = node("/", name, [identity(guid) for guid in readers], [identity(guid) for guid in writers])
    publish = bus.raw_publisher("ros_discovery_info", participant, latched=True)
    publish(participant(identity(bus.participant.guid.bytes), [shown]))
