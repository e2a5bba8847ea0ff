"""The scheduler of a setting file behind a service: time limits, the planner's own check, saves.

All work on the scheduler is done by one `Worker`, so that a slow rule delays nobody for longer than the time
limit of a decision.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from replan import load_setting, make_rule
from replan.errors import InputError
from replan.execute.deadline import DeadlineExceeded, Work, Worker
from replan.robots.ros2.drive import restore, save
from replan.robots.ros2.nav2_scheduler import PATIENCE, Nav2Scheduler, Verdict
from replan.typing import Execution
from replan.worlds.map_file import OccupancyMap
from replan.worlds.map_world import Map

LIMIT = 0.05  # seconds, of a decision and of the planner's own check
OK, WARN, ERROR = 0, 1, 2  # levels of a diagnostic status
_KEYS = {"rule", "parameters", "execution"}


@dataclass(frozen=True)
class Answer:
    """The answer to "is the path still valid?"."""

    valid: bool
    reason: str
    invalid_poses: list[int] = field(default_factory=list)  # as the planner's own check named them


@dataclass(frozen=True)
class SchedulerReport:
    """The state of the scheduler, for diagnostics."""

    level: int
    due: bool
    message: str
    values: dict[str, str]


class SchedulerService:
    """Answers for a scheduler within time limits, from any thread.

    Parameters
    ----------
    scheduler : Nav2Scheduler
        The scheduler.
    decision_limit, planner_limit : float
        Seconds for a decision, and for the planner's own check.
    snapshot : str or Path, optional
        Folder to go on from after a restart.
    publish : callable, optional
        Gets a report after every change.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(
        self,
        scheduler: Nav2Scheduler,
        *,
        decision_limit: float = LIMIT,
        planner_limit: float = LIMIT,
        snapshot: str | Path | None = None,
        publish: Callable[[SchedulerReport], None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        for name, limit in (("decision limit", decision_limit), ("planner limit", planner_limit)):
            if not (np.isfinite(limit) and limit > 0):
                raise InputError(f"the {name} must be positive, not {limit}")
        self.scheduler, self.clock = scheduler, clock
        self.decision_limit, self.planner_limit = decision_limit, planner_limit
        self.trouble = ""  # a problem outside the mission, for diagnostics
        self.calls = 0
        self._snapshot, self._publish = snapshot, publish
        self.resumed = snapshot is not None and restore(scheduler, snapshot)
        self._saved = scheduler.changes
        self._pose: tuple[Any, Any] | None = None
        self._costmap: tuple[OccupancyMap, float] | None = None
        self._shown: tuple[OccupancyMap, float] | None = None  # the costmap that the scheduler has
        self._last: SchedulerReport | None = None
        self._worker = Worker()

    def on_pose(self, position: ArrayLike, covariance: ArrayLike | None = None) -> None:
        """Store the robot's x, y and their (2, 2) covariance; called for every message."""
        self._pose = (position, covariance)

    def on_path(self, points: ArrayLike, stamp: float) -> None:
        """Take a path of (n, 2) x, y."""
        self._post(lambda now: self.scheduler.on_path(points, now, stamp=stamp))

    def on_map(self, occupancy: OccupancyMap) -> None:
        """Take a map."""
        self._post(lambda now: self.scheduler.on_map(self.scheduler.setting.cut(occupancy)))

    def on_costmap(self, costmap: OccupancyMap, stamp: float) -> None:
        """Take a local costmap in the frame of the map; called for every message."""
        self._costmap = (costmap, stamp)

    def tick(self) -> None:
        """Let time pass; call it about once a step."""
        if not self._worker.busy:
            self._post(self.scheduler.peek)

    def answer(self, planner: Future | None = None) -> Answer:
        """Answer "is the path still valid?".

        `planner` is the pending reply of the planner's own check, an object with `is_valid` and
        `invalid_pose_indices`; None where nothing is forwarded.
        """
        began = time.monotonic()
        self.calls += 1
        verdict, missing = None, ""
        try:
            asked = Work(lambda: self._work(self.scheduler.peek), self._say)
            verdict = self._worker.begin(asked).outcome(self.decision_limit)
        except DeadlineExceeded:
            missing = f"no decision within {self.decision_limit:g} s"
        except Exception as error:
            missing = f"no decision ({type(error).__name__})"
        valid, why, indices = True, "", []
        if planner is not None:
            left = self.planner_limit - (time.monotonic() - began)
            valid, why, indices = _planners_answer(planner, max(left, 0.0))
        if verdict is None:
            return Answer(valid, f"{missing}; {why or 'nothing else is asked'}", indices)
        if verdict.due:
            return Answer(False, verdict.reason, indices)
        return Answer(valid, why if not valid else verdict.reason, indices)

    def status(self) -> tuple[bool, dict[str, Any]]:
        """Return whether a decision could be made in time, and the state of the mission."""
        try:
            asked = Work(lambda: self._work(self._status))
            return True, self._worker.begin(asked).outcome(self.decision_limit)
        except DeadlineExceeded:
            return False, {"reason": f"no decision within {self.decision_limit:g} s"}

    def _status(self, now: float) -> dict[str, Any]:
        """Return the state of the mission, and when the costmap is from."""
        seen = {} if self._shown is None else {"costmap": self._shown[1]}
        return self.scheduler.status(now) | seen

    def settle(self, seconds: float = 10.0) -> None:
        """Wait until all that came before is done and saved."""
        self._worker.begin(Work(lambda: None)).outcome(seconds)

    def _post(self, job: Callable[[float], Any]) -> None:
        self._worker.begin(Work(lambda: self._work(job)))

    def _work(self, job: Callable[[float], Any]) -> Any:
        """Run a job in the worker's thread, then save and report its changes."""
        if self._pose is not None:
            self.scheduler.on_pose(*self._pose)
        if self._costmap is not None and self._costmap is not self._shown:
            self._shown = self._costmap
            self.scheduler.on_costmap(self._shown[0])
        try:
            return job(self.clock())
        except Exception as error:
            self.trouble = f"{type(error).__name__}: {error}"
            raise
        finally:
            self._after()

    def _say(self, verdict: Verdict) -> Verdict:
        """Count a verdict as said; only for a caller who still waits for it."""
        said = self.scheduler.say(verdict, self.clock())
        self._after()
        return said

    def _after(self) -> None:
        """Save changes and report them."""
        try:
            if self._snapshot is not None and self._saved != self.scheduler.changes:
                save(self.scheduler.drive, self._snapshot)
                self._saved = self.scheduler.changes
            if self._publish is not None:
                report = self._report()
                if report != self._last:
                    self._publish(report)
                    self._last = report
        except Exception as error:
            self.trouble = f"{type(error).__name__}: {error}"

    def _report(self) -> SchedulerReport:
        now, drive = self.clock(), self.scheduler.drive
        status = self.scheduler.status(now)
        asked = None if drive is None else drive.asked
        overdue = status["due"] and asked is not None and now - asked >= self.scheduler.patience
        level = ERROR if self.trouble else WARN if overdue else OK
        values = {name: _text(value) for name, value in status.items() if name != "time"}
        return SchedulerReport(level, status["due"], self.trouble or status["reason"], values)


def load_scheduler(
    path: str | Path,
    *,
    rule: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    execution: str | None = None,
    patience: float = PATIENCE,
    read_map: bool = True,
) -> Nav2Scheduler:
    """Return the scheduler of a TOML file with `world = "map"`.

    Robots are localised and replan at the last moment, blind ones look ahead, unless something else is said.

    Parameters
    ----------
    path : str or Path
        The file.
    rule, parameters, execution
        They take precedence over those of the file.
    patience : float
        Seconds until "replan" is said again.
    read_map : bool
        Whether to read the map that the file names; without it the scheduler waits for a map.

    Returns
    -------
    Nav2Scheduler
        The scheduler.
    """
    setting = load_setting(path)
    if not isinstance(setting, Map):
        raise InputError(f'{path}: a scheduler needs world = "map", not {setting.world!r}')
    section = tomllib.loads(Path(path).read_text()).get("scheduler", {})
    if unknown := sorted(set(section) - _KEYS):
        raise InputError(f"{path}: unknown key 'scheduler.{unknown[0]}'")
    execution = execution or section.get("execution", "localised")
    if execution not in get_args(Execution):
        raise InputError(f"execution must be {' or '.join(get_args(Execution))}, not {execution!r}")
    name = rule or section.get("rule", "last-moment" if execution == "localised" else "lookahead")
    chosen = parameters if rule or parameters else section.get("parameters", {})
    return Nav2Scheduler(
        setting,
        make_rule(name, **(chosen or {})),
        execution=execution,  # pyright: ignore[reportArgumentType]
        patience=patience,
        cells=setting.cells() if read_map else None,
    )


def _planners_answer(planner: Future, seconds: float) -> tuple[bool, str, list[int]]:
    try:
        reply = planner.result(seconds)
    except (LateError, CancelledError):
        planner.cancel()
        return False, "the planner's own check did not answer in time", []
    if not reply.is_valid:
        return False, "the planner's own check found the path blocked", list(reply.invalid_pose_indices)
    return True, "the planner's own check found the path free", []


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
