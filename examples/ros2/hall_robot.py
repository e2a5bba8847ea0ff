"""A simulated robot under Nav2 on a simulated clock: it moves one cell a second and sees a few metres.

Its planner finds the fastest way on the floor as the robot knows it. All triggers share robot, planner and
knowledge, and differ in when they ask for a new path.
"""

from __future__ import annotations

import tomllib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from halls import CELL, DRY, Change, Hall

from replan import Observation, SlipKernel, make_rule
from replan.robots import OCCUPIED, FastestWays, KnownFloor, Nav2Scheduler, OccupancyMap
from replan.typing import Array
from replan.worlds.settings import parse_setting

SPEED = 0.5  # m/s: a cell a second
AHEAD = 3  # cells between a robot off its path and the point of the path that it steers to
RANGE = 6  # cells that the sensors see, to each side
LONGEST = 300  # seconds of a mission


class HallRobot:
    """The robot in its hall; a seed fixes its slips."""

    def __init__(self, hall: Hall, seed: int) -> None:
        self.hall, self.cells = hall, hall.cells
        self.state, self.goal = hall.state(hall.start), hall.state(hall.goal)
        self.floor = KnownFloor(SlipKernel(self.cells.shape, DRY, blocked=self.cells.blocked))
        self.learned = self.floor.begin()
        self._draws = np.random.default_rng([seed, 1]).random((LONGEST, 2))
        self.path = [self.state]
        self._waiting, self._present = list(hall.changes), list[Change]()
        self._happen(0)
        self.look()
        self.replan()

    @property
    def position(self) -> Array:
        """(2,) x, y of the robot."""
        return self.cells.positions_of(self.state)

    def costmap(self) -> OccupancyMap:
        """Return what the sensors show: a window that goes with the robot."""
        rows, columns = self.cells.shape
        closed = self._closed.reshape(rows, columns)[::-1]
        i, j = rows - 1 - self.state // columns, self.state % columns
        low, left = max(i - RANGE, 0), max(j - RANGE, 0)
        window = closed[low : i + RANGE + 1, left : j + RANGE + 1]
        return OccupancyMap(
            np.where(window, OCCUPIED, 0).astype(np.int8), CELL, (left * CELL, low * CELL, 0.0)
        )

    def look(self) -> None:
        """See which cells are closed within the range of the sensors."""
        rows, columns = self.cells.shape
        i, j = divmod(self.state, columns)
        near = np.zeros((rows, columns), dtype=bool)
        near[max(i - RANGE, 0) : i + RANGE + 1, max(j - RANGE, 0) : j + RANGE + 1] = True
        states = np.flatnonzero(near)
        self.learned = self.floor.see(self.learned, states, self._closed[states])

    def replan(self) -> bool:
        """Find the fastest way on the floor as it is known. Return False if there is none."""
        way = FastestWays.on(self.floor.kernel(self.learned), self.goal).way_from(self.state)
        if way[-1] != self.goal:
            return False
        self.path = way
        self.floor.path = frozenset(way)
        return True

    def drive(self, second: int) -> None:
        """One second: along the path or back to it, or wherever the floor takes the robot."""
        slips, where = self._draws[second]
        self._happen(second)
        before, action = self.state, self.command()
        slipped = slips < self._slip[before]
        self.state = self._moved(int(where * len(SlipKernel.moves)) if slipped else action)
        self.look()
        seen = Observation(second, self.state, before, action)
        self.learned, _ = self.floor.estimate(self.learned, seen)

    def command(self) -> int:
        """Return the move that the controller commands."""
        if self.state in self.path:
            place = len(self.path) - 1 - self.path[::-1].index(self.state)
            following = self.path[min(place + 1, len(self.path) - 1)]
        else:
            following = self._towards_the_path()
        step = np.subtract(divmod(following, self.cells.shape[1]), divmod(self.state, self.cells.shape[1]))
        return int((step == SlipKernel.moves).all(axis=1).argmax())

    def ahead(self) -> list[int]:
        """Return the cells of the path from the robot on."""
        away = np.abs(self.cells.positions_of(self.path) - self.position).sum(axis=1)
        return self.path[len(away) - 1 - int(away[::-1].argmin()) :]

    def _towards_the_path(self) -> int:
        """Return the next cell on a shortest way over free cells to a point some way ahead on the path."""
        target = self.ahead()[: AHEAD + 1][-1]
        moves, front = {target: 0}, deque([target])
        while front and self.state not in moves:
            state = front.popleft()
            for beside in self._free_beside(state):
                if beside not in moves:
                    moves[beside] = moves[state] + 1
                    front.append(beside)
        there = self.cells.positions_of(target)

        def detour(state: int) -> tuple[float, float]:
            return moves.get(state, np.inf), float(np.linalg.norm(self.cells.positions_of(state) - there))

        return min([*self._free_beside(self.state), self.state], key=detour)

    def _free_beside(self, state: int) -> list[int]:
        near = state + SlipKernel.moves[:4] @ [self.cells.shape[1], 1]
        blocked = self.learned["blocked"]
        return [int(each) for each in near if not blocked[each]]

    def _happen(self, second: int) -> None:
        """Let changes begin and end; nothing is closed where the robot is, but only after it has left."""
        place, before = self.hall.place(self.state), list(self._present)
        for change in [each for each in self._waiting if each.begin <= second]:
            if change.wet or not change.covers(place):
                self._waiting.remove(change)
                self._present.append(change)
        self._present = [each for each in self._present if second < each.end]
        if second == 0 or self._present != before:
            self._closed, self._slip = self.hall.closed(self._present), self.hall.slip(self._present)

    def _moved(self, action: int) -> int:
        moved = int(self.state + SlipKernel.moves[action] @ [self.cells.shape[1], 1])
        return self.state if self._closed[moved] else moved


class PathTrigger:
    """Says when the robot asks its planner for a new path."""

    def begin(self, robot: HallRobot) -> None:
        """Take the first path of a mission."""

    def due(self, robot: HallRobot, second: int) -> bool:
        """Return whether to replan."""
        raise NotImplementedError

    def replanned(self, robot: HallRobot, second: int) -> None:
        """Take a new path."""


@dataclass
class Timer(PathTrigger):
    """Replan when the path is `seconds` old: 1 is Nav2's default tree, 15 its `PathExpiringTimer`."""

    seconds: int
    last: int = 0

    def begin(self, robot: HallRobot) -> None:
        """Start the timer."""
        self.last = 0

    def due(self, robot: HallRobot, second: int) -> bool:
        """Return whether the time is over; if so, it starts again."""
        over = second - self.last >= self.seconds
        self.last = second if over else self.last
        return over


@dataclass
class Distance(PathTrigger):
    """Replan after `metres` of driving, as Nav2's `DistanceController` does."""

    metres: float
    gone: float = 0.0
    at: int = 0

    def begin(self, robot: HallRobot) -> None:
        """Start to measure."""
        self.gone, self.at = 0.0, robot.state

    def due(self, robot: HallRobot, second: int) -> bool:
        """Return whether the robot has gone that far; if so, it starts again."""
        self.gone += CELL * (robot.state != self.at)
        far = self.gone >= self.metres
        self.gone, self.at = 0.0 if far else self.gone, robot.state
        return far


SETTING = f"""
world = "map"
cell = {CELL}
speed = {SPEED}
objective = "time"
horizon = {LONGEST}
planning_horizon = 60
price = 1.0
[drift]
kind = "linear"
slip = {DRY}
rate = 0.0
"""
"""Setting of the scheduler: dry floor, and nothing of what will change."""


class Asking(PathTrigger):
    """Asks a scheduler in this process once a second, and tells it pose, costmap and paths."""

    def __init__(self, scheduler: Nav2Scheduler) -> None:
        self.scheduler = scheduler
        self._began = -2.0 * LONGEST

    def begin(self, robot: HallRobot) -> None:
        """Begin another mission, later than everything before it."""
        self._began += 2.0 * LONGEST
        self.scheduler.on_map(robot.cells)
        self.scheduler.on_costmap(robot.costmap())
        self.replanned(robot, 0)

    def due(self, robot: HallRobot, second: int) -> bool:
        """Ask whether to replan."""
        self.scheduler.on_pose(robot.position)
        self.scheduler.on_costmap(robot.costmap())
        return self.scheduler.ask(self._began + second).due

    def replanned(self, robot: HallRobot, second: int) -> None:
        """Hand the new path over."""
        now = self._began + second
        self.scheduler.on_pose(robot.position)
        self.scheduler.on_path(robot.cells.positions_of(robot.path), now, stamp=now + 1.0)


@dataclass(frozen=True)
class Driven:
    """One mission as it went."""

    replans: tuple[int, ...]  # seconds
    seconds: int
    arrived: bool
    flips: int  # replans that put cells back on the path ahead which an earlier one had taken off it


def drive_mission(robot: HallRobot, trigger: PathTrigger) -> Driven:
    """Drive to the goal, or until `LONGEST` seconds are over."""
    replans: list[int] = []
    flips, dropped = 0, set[int]()
    trigger.begin(robot)
    for second in range(1, LONGEST):
        robot.drive(second)
        if robot.state == robot.goal:
            return Driven(tuple(replans), second, True, flips)
        if not trigger.due(robot, second):
            continue
        replans.append(second)
        old = set(robot.ahead())
        if robot.replan():
            new = set(robot.ahead())
            flips += bool(new & dropped)
            dropped = (dropped | (old - new)) - new
            trigger.replanned(robot, second)
    return Driven(tuple(replans), LONGEST, False, flips)


TRIGGERS: dict[str, Callable[[], PathTrigger]] = {
    "1 Hz, Nav2's default": lambda: Timer(1),
    "path expired, 15 s": lambda: Timer(15),
    "distance, 1 m": lambda: Distance(1.0),
    "replan, last-moment": lambda: Asking(
        Nav2Scheduler(parse_setting(tomllib.loads(SETTING)), make_rule("last-moment"))
    ),
}
