"""One mission under Nav2, and the file from which a restarted process goes on with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replan import Agent, Decision, Kernel, Plan, Robot, SlipKernel, Ties, plan_by_induction
from replan.errors import InputError
from replan.estimate.estimator import Learned
from replan.execute.saved_agent import read_attached
from replan.robots.ros2.floor import FastestWays, KnownFloor, PathInForce, plan_of
from replan.typing import Array, Indices
from replan.worlds.cell_map import CellMap

if TYPE_CHECKING:
    from replan.robots.ros2.nav2_scheduler import Nav2Scheduler

FILE = "drive.npz"
_PLAIN = ("start", "goal", "moves", "began", "lead", "asked", "paths", "beyond_budget", "seen_at")


@dataclass(frozen=True)
class ReceivedPath:
    """A path as it arrived."""

    points: Array = field(repr=False)  # (n, 2) x, y in metres
    stamp: float = 0.0  # seconds

    def same_as(self, other: ReceivedPath | None) -> bool:
        """Return whether this is the other path, sent again."""
        return other is not None and self.stamp == other.stamp and np.array_equal(self.points, other.points)


@dataclass
class Drive:
    """One mission under way."""

    agent: Agent = field(init=False, repr=False)
    cells: CellMap  # with every cell of the first path free
    start: int
    goal: int
    moves: int  # of the first path
    began: float  # seconds
    path: ReceivedPath
    way: Indices  # cells of the path in force
    lead: int = 0  # steps from "replan" to a new path
    floor: KnownFloor | None = field(default=None, repr=False)  # of a localised robot
    force: PathInForce | None = field(default=None, repr=False)  # its path, beside the fastest way
    seen_at: int = -1  # step at which a localised robot saw its cell last
    due: Decision | None = None  # the decision that made an update due
    asked: float | None = None  # when "replan" was last answered, None if not since the last path
    paths: int = 1  # that have come, the first one included
    beyond_budget: int = 0  # of these, paths after the budget was spent

    def follow(self, way: Indices, learned: Learned) -> Indices | None:
        """Put a path in force on the floor as it is known.

        Returns the (S,) moves of a localised robot: the fastest ones off its path.
        """
        self.way = way
        if self.floor is None:
            return None
        self.floor.path = frozenset(way.tolist())
        ways = FastestWays.on(self.floor.kernel(learned), self.goal)
        self.force = PathInForce.found_on(self.cells, way, ways)
        return self.force.policy(ways.policy)


def robot_that_sees(robot: Robot, drive: Drive, dry: Kernel) -> Robot:
    """Return a localised robot with the floor as it comes to know it, and ways as a planner finds them.

    Its planner keeps to the path in force where that is still as good as it was.
    """
    assert isinstance(dry, SlipKernel)
    drive.floor = KnownFloor(dry)
    drive.follow(drive.way, drive.floor.begin())

    def planner(kernel: Any, reward, time: int, horizon: int, ties: Ties) -> Plan:
        assert drive.force is not None
        ways = FastestWays.on(kernel, drive.goal)
        return plan_of(ways, drive.force.new_policy(ways), time, ties)

    return replace(robot, estimator=drive.floor, planner=planner, judge=planner)


def blind_robot(robot: Robot, drive: Drive, dry: Kernel) -> Robot:
    """Return a robot that follows the path in force, and its own plans off it."""

    def planner(kernel: Kernel, reward, time: int, horizon: int, ties: Ties) -> Plan:
        made = plan_by_induction(kernel, reward, time, horizon, ties)
        return replace(made, policy=drive.cells.policy_along(drive.way, made.policy))

    return replace(robot, planner=planner)


def save(drive: Drive | None, folder: str | Path) -> None:
    """Save the mission as one file in a folder, or remove that file if there is no mission."""
    file = Path(folder) / FILE
    if drive is None:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    cells, due = drive.cells, drive.due
    attached: dict[str, Any] = {name: vars(drive)[name] for name in _PLAIN}
    attached |= {
        "due": None if due is None else {**vars(due), "terms": dict(due.terms)},
        "way": drive.way,
        "points": drive.path.points,
        "stamp": drive.path.stamp,
        "map": [cells.cell, cells.shape, cells.origin, cells.inflation],
        "slowness": None if drive.force is None else drive.force.slowness,
        "blocked": np.packbits(cells.blocked).tobytes().hex(),
    }
    drive.agent.save(file, attached=attached)


def restore(scheduler: Nav2Scheduler, folder: str | Path) -> bool:
    """Take up the mission saved in a folder and return whether there is one.

    Raises `InputError` if the file is damaged or belongs to another setting or rule.
    """
    file = Path(folder) / FILE
    if not file.exists():
        return False
    saved = read_attached(file)
    try:
        cell, shape, origin, inflation = saved["map"]
        bits = np.frombuffer(bytes.fromhex(saved["blocked"]), dtype=np.uint8)
        blocked = np.unpackbits(bits, count=shape[0] * shape[1]).astype(bool)
        cells = CellMap(cell, tuple(shape), blocked, tuple(origin), inflation)
        path = ReceivedPath(np.asarray(saved["points"], dtype=float).reshape(-1, 2), saved["stamp"])
        way = np.asarray(saved["way"], dtype=np.int64)
        start, goal, moves, began, lead = (saved[name] for name in _PLAIN[:5])
        drive = scheduler.make_drive(
            path, way, began, cells=cells, start=start, goal=goal, moves=moves, lead=lead
        )
        drive.due = None if saved["due"] is None else Decision(**saved["due"])
        drive.asked, drive.paths, drive.beyond_budget, drive.seen_at = (saved[name] for name in _PLAIN[5:])
        if drive.floor is not None:
            slowness = np.asarray(saved["slowness"], dtype=float)
            drive.force = PathInForce(cells, way, slowness.reshape(len(way)))
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"{file}: not a saved mission ({error})") from None
    drive.agent.restore(file)
    scheduler.drive = drive
    if scheduler.cells is None:
        scheduler.cells = cells
    return True
