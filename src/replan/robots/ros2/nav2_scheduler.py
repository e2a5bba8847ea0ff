"""Decides when a Nav2 robot should replan. No transport: positions, paths and times come in, answers go out.

A mission begins with the first path to a new goal, and ends at the goal or after its T steps. A step is the
time for one cell of the map, so that decisions follow the clock. Each new path is an update, whoever asked
for it: the path is the plan in force until the next one comes; with a forecast that moves, the plan in force
is the one made on the forecast. An update that is due stays due until a path comes.

A localised robot, the default, gives its pose at every question. Between updates it learns which cells within
the range of its sensors are blocked and how slippery the floor is (`KnownFloor`), and weighs its path
against the one that its planner would find now (`FastestWays`). Otherwise it is blind between updates, as the
paper's is.

The time from a "replan" to the new path is measured. From the next mission on the rule of a localised robot
knows that its updates take this long, and asks that much earlier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from replan import Agent, Decision, Rule, Setting, make_mission
from replan.errors import InputError
from replan.robots.planar_transforms import cells_shown
from replan.robots.ros2.drive import Drive, ReceivedPath, blind_robot, robot_that_sees
from replan.typing import Array, Execution, Indices
from replan.worlds.cell_map import CellMap
from replan.worlds.map_file import OccupancyMap
from replan.worlds.map_world import Map

PATIENCE = 5.0  # seconds
MEASURED = 9  # newest waits for a path, whose median is the time of an update
DETOURS = 2.0  # times as many steps as other missions have: a localised robot may have to turn back


@dataclass(frozen=True)
class Verdict:
    """Whether to replan, and why."""

    due: bool
    reason: str
    decision: Decision | None = None  # of the rule


class Nav2Scheduler:
    """The scheduler of one robot. Not safe to use from several threads at once.

    Parameters
    ----------
    setting : Setting
        A setting with `world = "map"`.
    rule : Rule
        The rule that decides when to update.
    execution : {"map", "belief", "localised"}
        How the robot acts between updates.
    patience : float
        Seconds until "replan" is said again.
    cells : CellMap, optional
        The cells of the map, if they are known before a map comes.
    **agent_options
        Further arguments of `Agent`.
    """

    def __init__(
        self,
        setting: Setting,
        rule: Rule,
        *,
        execution: Execution = "localised",
        patience: float = PATIENCE,
        cells: CellMap | None = None,
        **agent_options: Any,
    ) -> None:
        if patience < 0:
            raise InputError(f"patience must not be negative, not {patience}")
        if not isinstance(setting, Map):
            raise InputError(f'a scheduler needs world = "map", not {setting.world!r}')
        self.setting, self.rule, self.patience = setting, rule, patience
        self.execution: Execution = execution
        self.cells = cells
        self.drive: Drive | None = None
        self.ended = "no path has come yet"  # why there is no mission
        self.changes = 0  # grows whenever there is something new to save
        self.waits: list[float] = []  # seconds from "replan" to the new path, the newest ones
        self._options = agent_options
        self._position: tuple[Array, Array | None] | None = None  # x, y and their covariance
        self._costmap: OccupancyMap | None = None
        self._try_out()

    def on_map(self, cells: CellMap) -> None:
        """Take a map, from the next mission on."""
        self.cells = cells

    def on_pose(self, position: ArrayLike, covariance: ArrayLike | None = None) -> None:
        """Take the robot's x, y and, where known, their (2, 2) covariance."""
        self._position = (
            np.asarray(position, dtype=float),
            None if covariance is None else np.asarray(covariance, dtype=float),
        )

    @property
    def position(self) -> Array | None:
        """The robot's x, y; None if no pose has come."""
        return None if self._position is None else self._position[0]

    def on_costmap(self, costmap: OccupancyMap) -> None:
        """Take a local costmap in the frame of the map; cells outside of it stay as last seen."""
        self._costmap = costmap
        drive = self.drive
        if drive is not None and drive.floor is not None:
            points = drive.cells.points_along(drive.path.points)
            shown = cells_shown(costmap, drive.cells, points, drive.way)
            drive.agent.learn(drive.floor.see, *shown)

    def on_path(self, points: ArrayLike, now: float, *, stamp: float = 0.0) -> Verdict:
        """Take a path of (n, 2) x, y: a new mission if it leads to a new goal, else an update."""
        path = ReceivedPath(np.asarray(points, dtype=float).reshape(-1, 2), stamp)
        if self.cells is None:
            self.ended = "there is no map yet"
            return Verdict(False, self.ended)
        if self.drive is not None and path.same_as(self.drive.path):
            return self.peek(now)
        self._end_if_over(now)
        if self.drive is not None:
            way = self.drive.cells.states_along(path.points)
            if len(way) and way[-1] == self.drive.goal:
                return self._update(path, way, now)
        way = self.cells.states_along(path.points)
        if not len(way):
            return Verdict(False, "the path has no pose on the map")
        return self._begin(path, way, now)

    def peek(self, now: float) -> Verdict:
        """Return whether an update is due, without counting as a question."""
        self._end_if_over(now)
        drive = self.drive
        if drive is None:
            return Verdict(False, self.ended)
        decision = self._advance(now)
        if drive.due is not None:
            return Verdict(True, drive.due.reason, drive.due)
        return Verdict(False, decision.reason, decision)

    @property
    def lead(self) -> int:
        """Steps from "replan" to the new path, as measured so far."""
        return round(median(self.waits) / self.setting.step_seconds) if self.waits else 0

    def ask(self, now: float) -> Verdict:
        """Return whether to replan now. After "yes" the same is said again only when `patience` is over."""
        return self.say(self.peek(now), now)

    def say(self, verdict: Verdict, now: float) -> Verdict:
        """Count a verdict as said, and return it; within `patience` of the last "yes" it is a "no"."""
        drive = self.drive
        if not verdict.due or drive is None:
            return verdict
        if drive.asked is not None and now - drive.asked < self.patience:
            waiting = f"asked {now - drive.asked:.1f} s ago, a new path has not come yet ({verdict.reason})"
            return replace(verdict, due=False, reason=waiting)
        drive.asked = now
        self.changes += 1
        return verdict

    def status(self, now: float) -> dict[str, Any]:
        """Return the state of the mission as plain values."""
        verdict = self.peek(now)
        drive, decision = self.drive, verdict.decision
        if drive is None:
            return {"time": now, "mission": False, "due": False, "reason": verdict.reason}
        numbers = {} if decision is None else {"score": decision.score, "threshold": decision.threshold}
        return {
            "time": now,
            "mission": True,
            "due": verdict.due,
            "reason": verdict.reason,
            "rule": self.rule.name,
            "step": drive.agent.time,
            "horizon": drive.agent.horizon,
            "budget": drive.agent.spending.limit,
            "budget_left": drive.agent.budget_left,
            "paths": drive.paths,
            "paths_beyond_budget": drive.beyond_budget,
            "steps_until_a_path": drive.lead,
            **{name: value for name, value in numbers.items() if value is not None},
            **({} if decision is None else {f"term {name}": value for name, value in decision.terms.items()}),
        }

    def make_drive(
        self,
        path: ReceivedPath,
        way: Indices,
        now: float,
        *,
        cells: CellMap,
        start: int,
        goal: int,
        moves: int,
        lead: int | None = None,
        trial: bool = False,
    ) -> Drive:
        """Return a mission that has not started yet; `trial` as in `Agent`.

        `lead` are the steps that updates of a localised robot take, None: as measured.
        """
        sees = self.execution == "localised"
        world = self.setting.world_on(cells, start=start, goal=goal, moves=moves * (DETOURS if sees else 1))
        budget = self.setting.budget
        limit = None if budget is None else min(budget, world.horizon - 1)
        setting = self.setting.model_copy(update={"budget": limit})
        mission = make_mission(setting, world=world, execution=self.execution)
        lead = (self.lead if lead is None else lead) if sees else 0
        drive = Drive(cells, start, goal, moves, now, path, way, lead)
        robot = replace(mission.robot, update_steps=lead)
        if not robot.forecast.moves:
            robot = (robot_that_sees if sees else blind_robot)(robot, drive, world.kernel(0))
        mission = replace(mission, robot=robot)
        drive.agent = Agent.on(mission, self.rule, arrival="told", trial=trial, **self._options)
        return drive

    def _try_out(self) -> None:
        """Refuse what cannot work, and load what missions need, on a map of 3 x 3 cells."""
        cells = CellMap(self.setting.cell, (3, 3), np.arange(9) == 4)
        way = np.array([0, 1, 2])
        path = ReceivedPath(cells.positions_of(way))
        self.make_drive(
            path, way, 0.0, cells=cells, start=0, goal=2, moves=self.setting.planning_horizon, trial=True
        )

    def _begin(self, path: ReceivedPath, way: Indices, now: float) -> Verdict:
        assert self.cells is not None
        if len(way) < 2:
            self.drive, self.ended = None, "the path ends where it begins"
            self.changes += 1
            return Verdict(False, self.ended)
        cells = self.cells.freed(way)
        start, goal = self._state(cells, int(way[0])), int(way[-1])
        if not np.isfinite(cells.moves_to(goal)[start]):
            start = int(way[0])
        drive = self.make_drive(path, way, now, cells=cells, start=start, goal=goal, moves=len(way) - 1)
        drive.agent.start(start, policy=drive.follow(way, drive.agent.learned))
        self.drive = drive
        if self._costmap is not None:
            self.on_costmap(self._costmap)
        self.changes += 1
        return Verdict(False, "a mission has begun")

    def _update(self, path: ReceivedPath, way: Indices, now: float) -> Verdict:
        drive = self.drive
        assert drive is not None
        self._advance(now)
        drive.path = path
        policy = drive.follow(way, drive.agent.learned)
        drive.paths += 1
        if drive.agent.budget_left == 0:
            drive.beyond_budget += 1
        if drive.asked is not None:
            self.waits = [*self.waits, now - drive.asked][-MEASURED:]
        if drive.agent.update(self._look(drive, int(way[0]))):
            drive.agent.arrive(policy)
        drive.due = drive.asked = None
        self.changes += 1
        return self.peek(now)

    def _advance(self, now: float) -> Decision:
        """Move the mission's time on to `now` and return the last decision; one that is due is kept."""
        drive = self.drive
        assert drive is not None
        agent = drive.agent
        step = int((now - drive.began) / self.setting.step_seconds + 1e-9)
        step = min(step, agent.horizon - 1)
        if agent.robot.sees:
            while agent.time < step:
                agent.act()
            decision = agent.due(self._seen(drive))
            drive.due = drive.due or (decision if decision.update else None)
            return decision
        while True:
            decision = agent.due()
            if decision.update and drive.due is None:
                drive.due = decision
            if agent.time >= step:
                return decision
            agent.act()

    def _seen(self, drive: Drive) -> int | None:
        """Return the cell of a localised robot at the first question of a step; None if it is unknown."""
        if drive.seen_at == drive.agent.time:
            return None
        state = self._state(drive.cells, -1)
        if state < 0:
            return None
        drive.seen_at = drive.agent.time
        return state

    def _end_if_over(self, now: float) -> None:
        drive = self.drive
        if drive is None:
            return
        passed = now - drive.began
        if passed < 0:
            self.ended = "the clock went back"
        elif passed >= drive.agent.horizon * self.setting.step_seconds:
            self.ended = f"the {drive.agent.horizon} steps of the mission are over"
        elif self._position is not None and int(drive.cells.states_at(self._position[0])) == drive.goal:
            self.ended = "the goal is reached"
        else:
            return
        self.drive = None
        self.changes += 1

    def _state(self, cells: CellMap, otherwise: int) -> int:
        """Return the robot's cell, or `otherwise` if it is unknown or off the map."""
        if self._position is None or int(cells.states_at(self._position[0])) < 0:
            return otherwise
        return cells.free_state_at(self._position[0])

    def _look(self, drive: Drive, otherwise: int) -> int | Array:
        """Return the robot's cell, or the probabilities of cells where the pose has a covariance."""
        position, covariance = self._position or (None, None)
        if (
            drive.agent.robot.sees
            or position is None
            or covariance is None
            or int(drive.cells.states_at(position)) < 0
        ):
            return self._state(drive.cells, otherwise)
        return drive.cells.distribution_at(position, covariance)
