"""The simulated robot's questions over real DDS, to `replan ros` in a process of its own (extra `ros`)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hall_robot import LONGEST, SETTING, HallRobot, PathTrigger

from replan.robots import Bus, OccupancyMap
from replan.robots.ros2 import messages

_PATIENT = 60.0  # seconds until a wait is given up


class AskingOverDds(PathTrigger):
    """Asks `IsPathValid` once a second, on a clock that the simulation publishes."""

    def __init__(self, bus: Bus) -> None:
        self._bus, self._began, self._paths = bus, 0.0, 0
        self._clock = bus.publisher("/clock", messages.Clock)
        self._map = bus.publisher("/map", messages.OccupancyGrid, latched=True)
        self._costmap = bus.publisher("/local_costmap/costmap", messages.OccupancyGrid)
        self._pose = bus.publisher("/amcl_pose", messages.PoseWithCovarianceStamped)
        self._plan = bus.publisher("/plan", messages.Path)
        self._valid = bus.client("/replan/is_path_valid", messages.REQUESTS["1.3"], messages.RESPONSES["1.3"])
        self._status = bus.client("/replan/status", messages.TriggerRequest, messages.TriggerResponse)
        self._until(lambda: self._valid.ready and self._status.ready)

    def begin(self, robot: HallRobot) -> None:
        """Begin another mission, later than everything before it."""
        self._began += 2.0 * LONGEST
        self._paths = 0
        self._map(_grid(robot.hall.map, self._began))
        self._show(robot, 0)
        self.replanned(robot, 0)

    def due(self, robot: HallRobot, second: int) -> bool:
        """Ask whether the path is still valid."""
        self._show(robot, second)
        pending = self._valid.call(messages.REQUESTS["1.3"](path=_path(robot, 0.0)))
        self._until(pending.done)
        return not pending.result().is_valid

    def replanned(self, robot: HallRobot, second: int) -> None:
        """Publish the path until the scheduler has it."""
        self._paths += 1
        path = _path(robot, self._began + second + 1.0)
        while self._state().get("paths", 0) != self._paths:
            self._plan(path)

    def _show(self, robot: HallRobot, second: int) -> None:
        """Publish pose, costmap and time until the scheduler has them; the time last."""
        now = self._began + second
        pose = messages.PoseWithCovariance(messages.Pose(messages.Point(*robot.position.tolist())))
        while (state := self._state())["time"] < now or state.get("costmap") != now:
            self._pose(messages.PoseWithCovarianceStamped(messages.Header(frame_id="map"), pose))
            self._costmap(_grid(robot.costmap(), now))
            if state.get("costmap") == now:
                self._clock(messages.Clock(messages.make_stamp(now)))

    def _state(self) -> dict:
        pending = self._status.call(messages.TriggerRequest())
        self._until(pending.done)
        return json.loads(pending.result().message)

    def _until(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENT
        while not done():
            if time.monotonic() > end:
                raise TimeoutError("replan ros does not answer")
            self._bus.spin(0.02)


@contextmanager
def asking_over_dds(folder: Path, domain: int) -> Iterator[AskingOverDds]:
    """Start `replan ros` with the simulation's setting, and a client of it."""
    setting = folder / "setting.toml"
    setting.write_text(SETTING)
    command = [sys.executable, "-m", "replan", "ros", str(setting), "--planner", "", "--use-sim-time"]
    command += ["--map-topic", "/map", "--localhost", "--domain", str(domain), "--decision-limit", "30"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bus = Bus(domain, localhost=True)
    try:
        yield AskingOverDds(bus)
    finally:
        bus.close()
        process.terminate()
        process.wait(30)


def _path(robot: HallRobot, stamp: float) -> messages.Path:
    points = robot.cells.positions_of(robot.path).tolist()
    poses = [messages.PoseStamped(pose=messages.Pose(messages.Point(x, y))) for x, y in points]
    return messages.Path(messages.Header(messages.make_stamp(stamp), "map"), poses)


def _grid(shown: OccupancyMap, stamp: float) -> messages.OccupancyGrid:
    height, width = shown.occupancy.shape
    origin = messages.Pose(messages.Point(*shown.origin[:2]))
    info = messages.MapMetaData(resolution=shown.resolution, width=width, height=height, origin=origin)
    header = messages.Header(messages.make_stamp(stamp), "map")
    return messages.OccupancyGrid(header=header, info=info, data=shown.occupancy.reshape(-1).tolist())
