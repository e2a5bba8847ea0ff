"""A simulated robot that replans as Nav2 does, over real DDS: when does a new path save time?

A robot drives along the lower of two aisles. Some seconds later a spill makes the far end of that aisle so
slippery that the way back and through the upper aisle is faster, the more so the earlier the robot turns
round. It follows its path as Nav2's controllers do, towards a point some way ahead on it, its planner knows
the floor as it is at that moment, and it replans by one of these triggers:

- 1 Hz: Nav2's default tree.
- path expired: a new path every 15 s (`PathExpiringTimer`).
- distance: a new path every metre (`DistanceController`).
- rules of `replan`: asks IsPathValid at 1 Hz, as Nav2's trees do, and replans when the answer is "no". The
  answers come from `replan ros`, a process of its own, whose setting says when the spill comes; map, poses,
  paths and the clock go over DDS. `--late` makes the spill come later than the setting says, or earlier.

Needs the extra `ros`, no ROS. It prints replans and time to the goal, in the mean over missions with the same
slips for every trigger.
"""

from __future__ import annotations

import argparse
import heapq
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path as File

import numpy as np

from replan.model.slip import MOVES
from replan.robots.ros2 import messages
from replan.robots.ros2.dds import Bus
from replan.worlds.cell_map import CellMap
from replan.worlds.map_file import OccupancyMap
from replan.worlds.map_world import FloorPatch

START, GOAL = (1.25, 1.25), (18.75, 1.25)
SPILL = (13.0, 0.0, 17.0, 2.0)  # corners in metres
DRY, WET = 0.05, 0.9  # slip
SPEED = 0.5  # m/s
AHEAD = 3  # cells between the robot and the point of the path that it steers to
LONGEST = 300  # seconds of a mission
RULES = {"regret-guided": ["--set", "threshold=0.3"], "lookahead": [], "periodic": []}
CELL = 1.0  # metres, of the scheduler; the robot moves by half of that in a second
SETTING = f"""
world = "map"
cell = {CELL}
speed = {SPEED}
objective = "time"
horizon = 70
planning_horizon = 40
budget = 4
[drift]
kind = "linear"
slip = {DRY}
rate = 0.0
[[patches]]
corners = {list(SPILL)}
slip = {DRY}
final_slip = {WET}
"""


def aisles() -> OccupancyMap:
    """Two aisles of 20 m with a shelf between them."""
    pixels = np.zeros((60, 200), dtype=np.int8)
    pixels[[0, -1], :] = pixels[:, [0, -1]] = 100
    pixels[22:38, 20:180] = 100
    return OccupancyMap(pixels, 0.1)


class Robot:
    """The robot and its floor: one cell a second, and slips that a seed fixes."""

    def __init__(self, cells: CellMap, seed: int, spill: int) -> None:
        self.cells, self.state = cells, cells.free_state_at(START)
        self.goal = cells.free_state_at(GOAL)
        patch = FloorPatch(corners=SPILL, slip=DRY, final_slip=WET, begin=spill, end=spill + 1)
        self._patch, self._covered = patch, patch.covers(cells)
        self._draws = np.random.default_rng(seed).random((LONGEST, 2))
        self.path = self.plan(0)

    def slip(self, second: int) -> np.ndarray:
        """(S,) the slip of every cell."""
        return np.where(self._covered, self._patch.slip_at(second), DRY)

    def plan(self, second: int) -> list[int]:
        """The way to the goal that is fastest if the floor stays as it is."""
        seconds = 1 / (1 - self.slip(second))
        times, front = np.full(self.cells.states, np.inf), [(0.0, self.goal)]
        times[self.goal] = 0.0
        while front:
            passed, state = heapq.heappop(front)
            for before in self._beside(state):
                if passed + seconds[before] < times[before] - 1e-9:
                    times[before] = passed + seconds[before]
                    heapq.heappush(front, (float(times[before]), before))
        way = [self.state]
        while way[-1] != self.goal:
            way.append(min(self._beside(way[-1]), key=lambda s: times[s]))
        return way

    def drive(self, second: int) -> None:
        """One second: towards a point ahead on the path, or wherever the floor takes it."""
        target = self._target()
        slips, where = self._draws[second]
        if slips < self.slip(second)[self.state]:
            moved = self.state + MOVES[int(where * len(MOVES))] @ [self.cells.shape[1], 1]
            self.state = self.state if self.cells.blocked[moved] else int(moved)
        elif target != self.state:
            here = self.cells.positions_of(target)
            self.state = min(
                self._beside(self.state), key=lambda s: float(np.abs(self.cells.positions_of(s) - here).sum())
            )

    def _target(self) -> int:
        away = np.abs(self.cells.positions_of(self.path) - self.cells.positions_of(self.state)).sum(axis=1)
        nearest = len(away) - 1 - int(away[::-1].argmin())
        return self.path[min(nearest + AHEAD, len(self.path) - 1)]

    def _beside(self, state: int) -> list[int]:
        near = state + MOVES[:4] @ [self.cells.shape[1], 1]
        return near[~self.cells.blocked[near]].tolist()


Trigger = Callable[[Robot, int, int], bool]  # (robot, second, second of the last path) -> replan?


def distance_trigger(metres: float) -> Trigger:
    """Replan after so many metres."""
    gone = {"metres": 0.0, "at": None}

    def due(robot: Robot, second: int, last: int) -> bool:
        here = robot.cells.positions_of(robot.state)
        if second == 1 or gone["at"] is None:
            gone.update(metres=0.0, at=here)
        gone["metres"] += float(np.linalg.norm(here - gone["at"]))
        gone["at"] = here
        if gone["metres"] < metres:
            return False
        gone["metres"] = 0.0
        return True

    return due


class Scheduler:
    """Asks `replan ros` over DDS, on a clock that the simulation publishes."""

    def __init__(self, bus: Bus) -> None:
        self.bus, self.offset = bus, 0.0
        self._clock = bus.publisher("/clock", messages.Clock)
        self._pose = bus.publisher("/amcl_pose", messages.PoseWithCovarianceStamped)
        self._plan = bus.publisher("/plan", messages.Path)
        self._valid = bus.client("/replan/is_path_valid", messages.REQUESTS["1.3"], messages.RESPONSES["1.3"])
        self._status = bus.client("/replan/status", messages.TriggerRequest, messages.TriggerResponse)
        self._paths = 0
        grid = aisles()
        height, width = grid.occupancy.shape
        info = messages.MapMetaData(resolution=grid.resolution, width=width, height=height)
        publish = bus.publisher("/map", messages.OccupancyGrid, latched=True)
        publish(messages.OccupancyGrid(info=info, data=grid.occupancy.reshape(-1).tolist()))
        self._until(lambda: self._valid.ready and self._status.ready)

    def begin(self) -> None:
        """Begin another mission, later than everything before it."""
        self.offset += 2 * LONGEST
        self._paths = 0

    def due(self, robot: Robot, second: int, last: int) -> bool:
        """Ask whether the path is still valid."""
        self._show(robot, second)
        path = messages.Path(messages.Header(frame_id="map"), [messages.PoseStamped() for _ in robot.path])
        pending = self._valid.call(messages.REQUESTS["1.3"](path=path))
        self._until(pending.done)
        return not pending.result().is_valid

    def new_path(self, robot: Robot, second: int) -> None:
        """Publish the path until it has been seen."""
        self._paths += 1
        points = robot.cells.positions_of(robot.path).tolist()
        poses = [messages.PoseStamped(pose=messages.Pose(messages.Point(x, y))) for x, y in points]
        stamp = messages.make_stamp(self.offset + second + self._paths * 1e-3)
        self._show(robot, second)
        while self._state().get("paths", 0) < self._paths:
            self._plan(messages.Path(messages.Header(stamp, "map"), poses))

    def _show(self, robot: Robot, second: int) -> None:
        now = self.offset + second
        x, y = robot.cells.positions_of(robot.state).tolist()
        pose = messages.PoseWithCovariance(messages.Pose(messages.Point(x, y)))
        while self._state().get("time", 0.0) < now:
            self._pose(messages.PoseWithCovarianceStamped(messages.Header(frame_id="map"), pose))
            self._clock(messages.Clock(messages.make_stamp(now)))

    def _state(self) -> dict:
        pending = self._status.call(messages.TriggerRequest())
        self._until(pending.done)
        return json.loads(pending.result().message)

    def _until(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not done():
            if time.monotonic() > end:
                raise TimeoutError("replan ros does not answer")
            self.bus.spin(0.02)


@contextmanager
def scheduler(folder: File, rule: str, spill: int, domain: int) -> Iterator[Scheduler]:
    """`replan ros` as a process that expects the spill at this second, and its client."""
    step = round(spill * SPEED / CELL)
    setting = folder / f"setting-{spill}.toml"
    setting.write_text(f"{SETTING}begin = {step}\nend = {step + 1}\n")
    command = [sys.executable, "-m", "replan", "ros", str(setting), "--rule", rule, *RULES[rule]]
    command += ["--planner", "", "--use-sim-time", "--map-topic", "/map", "--localhost"]
    command += ["--domain", str(domain), "--decision-limit", "30"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bus = Bus(domain, localhost=True)
    try:
        yield Scheduler(bus)
    finally:
        bus.close()
        process.terminate()
        process.wait(30)


def mission(
    robot: Robot, due: Trigger, new_path: Callable[[Robot, int], None] | None = None
) -> tuple[int, int]:
    """Drive to the goal. Return replans and seconds."""
    replans = last = 0
    if new_path is not None:
        new_path(robot, 0)
    for second in range(1, LONGEST):
        robot.drive(second)
        if robot.state == robot.goal:
            return replans, second
        if due(robot, second, last):
            replans, last, robot.path = replans + 1, second, robot.plan(second)
            if new_path is not None:
                new_path(robot, second)
    return replans, LONGEST


def compare(missions: int, spills: list[int], late: int, domain: int) -> dict[str, np.ndarray]:
    """(missions, 2) replans and seconds of every trigger."""
    cells = CellMap.cut(aisles(), cell=0.5)
    triggers: dict[str, Callable[[], Trigger]] = {
        "1 Hz (Nav2's default)": lambda: lambda robot, second, last: True,
        "path expired, 15 s": lambda: lambda robot, second, last: second - last >= 15,
        "distance, 1 m": lambda: distance_trigger(1.0),
    }
    cases = [(seed, spill) for spill in spills for seed in range(missions)]
    found = {
        label: np.array([mission(Robot(cells, seed, spill + late), make()) for seed, spill in cases])
        for label, make in triggers.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        for rule in RULES:
            rows = []
            for spill in spills:
                with scheduler(File(folder), rule, spill, domain) as asked:
                    for seed in range(missions):
                        asked.begin()
                        rows.append(mission(Robot(cells, seed, spill + late), asked.due, asked.new_path))
            found[f"replan, {rule}"] = np.array(rows)
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--missions", type=int, default=2, help="for each time of the spill")
    parser.add_argument("--spills", type=int, nargs="+", default=[6, 12, 18, 24], help="seconds")
    parser.add_argument("--late", type=int, default=0, help="seconds by which the spill is late")
    parser.add_argument("--domain", type=int, default=87)
    options = parser.parse_args(arguments)
    print(f"{'trigger':<24} {'replans':>8} {'seconds to goal':>16}")
    found = compare(options.missions, options.spills, options.late, options.domain)
    for label, rows in found.items():
        replans, seconds = rows.mean(axis=0)
        print(f"{label:<24} {replans:8.1f} {seconds:16.1f}")


if __name__ == "__main__":
    main()
