"""The decisions of a Nav2 robot's scheduler, and what it knows, as an MCAP file that Foxglove opens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from replan.robots.logs.mcap_log import McapLog, grid_message, line_message, path_message, pose_message
from replan.robots.ros2.drive import Drive, ReceivedPath
from replan.robots.ros2.nav2_scheduler import Nav2Scheduler
from replan.robots.ros2.scheduler_service import SchedulerReport


class DriveLog:
    """Writes the map, the paths, the robot's pose and every decision after each report of the scheduler."""

    def __init__(self, path: str | Path, scheduler: Nav2Scheduler, clock: Callable[[], float]) -> None:
        self.scheduler, self.clock = scheduler, clock
        self.log = McapLog(path)
        self._drive: Drive | None = None
        self._path: ReceivedPath | None = None

    def record(self, report: SchedulerReport) -> None:
        """Write what has changed; called from the thread that changes the scheduler."""
        now, scheduler = self.clock(), self.scheduler
        drive, position = scheduler.drive, scheduler.position
        if drive is None:
            self.log.add(now, "/log", line_message(now, report.message))
            self._drive = None
            return
        if drive is not self._drive:
            self.log.add(now, "/map", grid_message(now, drive.cells, drive.cells.blocked, "cost"))
            self._drive = drive
        if drive.path is not self._path:
            self.log.add(now, "/path", path_message(now, drive.path.points))
            self._path = drive.path
        if position is not None:
            self.log.add(now, "/robot/pose", pose_message(now, position))
        self._write_belief(drive, now)
        decision = scheduler.peek(now).decision
        if decision is not None:
            self.log.decide(now, drive.agent.time, decision)

    def _write_belief(self, drive: Drive, now: float) -> None:
        """Write where a robot that is blind between updates believes it is."""
        agent, cells = drive.agent, drive.cells
        if agent.robot.sees:
            return
        belief = agent.estimate
        if agent.robot.execution == "map":
            belief = np.eye(1, cells.states, int(belief))[0]
        self.log.add(now, "/belief", grid_message(now, cells, belief, "probability"))
        likeliest = cells.positions_of(int(np.argmax(belief)))
        self.log.add(now, "/robot/believed", pose_message(now, likeliest))

    def close(self) -> None:
        """Finish the file."""
        self.log.close()
