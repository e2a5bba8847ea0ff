"""The scheduler behind a service: time limits, the planner's own check, snapshots. No transport.

All work on the scheduler is done in one thread of its own, so that a slow rule delays nobody for longer than
the decision's time limit.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.robots.ros2.nav2_scheduler import Nav2Scheduler, Verdict
from replan.robots.ros2.saved_drive import restore, save
from replan.worlds.map_file import OccupancyMap

LIMIT = 0.05  # seconds, of a decision and of the planner's own check
OK, WARN, ERROR = 0, 1, 2  # levels of a diagnostic status


@dataclass(frozen=True)
class Answer:
    """The answer to "is the path still valid?"."""

    valid: bool
    reason: str
    invalid_poses: list[int] = field(default_factory=list)  # as the planner's own check named them


@dataclass(frozen=True)
class Report:
    """The state of the scheduler, for diagnostics."""

    level: int
    due: bool
    message: str
    values: dict[str, str]


class SchedulerService:
    """Answers for a scheduler within time limits, from any thread.

    `planner_limit` bounds the wait for the planner's own check; `publish` gets a report after every change.
    """

    def __init__(
        self,
        scheduler: Nav2Scheduler,
        *,
        decision_limit: float = LIMIT,
        planner_limit: float = LIMIT,
        snapshot: str | Path | None = None,
        publish: Callable[[Report], None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        for name, limit in (("decision limit", decision_limit), ("planner limit", planner_limit)):
            if not (np.isfinite(limit) and limit > 0):
                raise InputError(f"the {name} must be positive, not {limit}")
        self.scheduler, self.clock = scheduler, clock
        self.decision_limit, self.planner_limit = decision_limit, planner_limit
        self.trouble = ""  # what is wrong beside the mission, for diagnostics
        self.calls = 0
        self._snapshot, self._publish, self._saved = snapshot, publish, -1
        self.resumed = snapshot is not None and restore(scheduler, snapshot)
        self._saved = scheduler.changes
        self._pose: tuple[Any, Any] | None = None
        self._last: Report | None = None
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="replan scheduler", daemon=True).start()

    def on_pose(self, position: ArrayLike, covariance: ArrayLike | None = None) -> None:
        """Take the robot's x, y and their (2, 2) covariance, as often as they come."""
        self._pose = (position, covariance)

    def on_path(self, points: ArrayLike, stamp: float) -> Future:
        """Take a path of (n, 2) x, y."""
        return self._submit(lambda now: self.scheduler.on_path(points, now, stamp=stamp))

    def on_map(self, occupancy: OccupancyMap) -> Future:
        """Take a map."""
        return self._submit(lambda now: self.scheduler.on_map(self.scheduler.setting.cut(occupancy)))

    def tick(self) -> None:
        """Let time pass; call it about once a step."""
        if self._work.empty():
            self._submit(self.scheduler.peek)

    def answer(self, planner: Future | None = None) -> Answer:
        """Answer "is the path still valid?".

        `planner` is the pending reply of the planner's own check, an object with `is_valid` and
        `invalid_pose_indices`; None where nothing is forwarded.
        """
        began = time.monotonic()
        self.calls += 1
        question = _Question()
        self._submit(lambda now: question.put(self.scheduler, now))
        verdict = question.get(self.decision_limit)
        valid, why, indices = True, "", []
        if planner is not None:
            left = self.planner_limit - (time.monotonic() - began)
            valid, why, indices = _planners_answer(planner, max(left, 0.0))
        if verdict is None:
            late = f"no decision within {self.decision_limit:g} s"
            return Answer(valid, f"{late}; {why or 'nothing else is asked'}", indices)
        if verdict.due:
            return Answer(False, verdict.reason, indices)
        return Answer(valid, why if not valid else verdict.reason, indices)

    def status(self) -> tuple[bool, dict[str, Any]]:
        """Return whether a decision could be made in time, and the state of the mission."""
        try:
            return True, self._submit(self.scheduler.status).result(self.decision_limit)
        except LateError:
            return False, {"reason": f"no decision within {self.decision_limit:g} s"}

    def settle(self, seconds: float = 10.0) -> None:
        """Wait until all that came before is done and saved."""
        self._submit(lambda now: None).result(seconds)

    def _submit(self, job: Callable[[float], Any]) -> Future:
        done: Future = Future()

        def work() -> None:
            if self._pose is not None:
                self.scheduler.on_pose(*self._pose)
            try:
                done.set_result(job(self.clock()))
            except Exception as error:
                self.trouble = f"{type(error).__name__}: {error}"
                done.set_exception(error)
            self._after()

        self._work.put(work)
        return done

    def _run(self) -> None:
        while True:
            self._work.get()()

    def _after(self) -> None:
        """Save what has changed and report it."""
        try:
            if self._snapshot is not None and self._saved != self.scheduler.changes:
                save(self.scheduler, self._snapshot)
                self._saved = self.scheduler.changes
            if self._publish is not None:
                report = self._report()
                if report != self._last:
                    self._publish(report)
                    self._last = report
        except Exception as error:
            self.trouble = f"{type(error).__name__}: {error}"

    def _report(self) -> Report:
        status = self.scheduler.status(self.clock())
        message = self.trouble or status["reason"]
        values = {name: _text(value) for name, value in status.items() if name != "time"}
        waiting = (
            status["due"] and self.scheduler.drive is not None and self.scheduler.drive.asked is not None
        )
        level = ERROR if self.trouble else WARN if waiting and self._overdue() else OK
        return Report(level, status["due"], message, values)

    def _overdue(self) -> bool:
        drive = self.scheduler.drive
        return (
            drive is not None
            and drive.asked is not None
            and self.clock() - drive.asked >= self.scheduler.patience
        )


class _Question:
    """A question to the scheduler that is dropped if it is not answered in time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._dropped = False
        self._verdict: Verdict | None = None

    def put(self, scheduler: Nav2Scheduler, now: float) -> None:
        """Ask; the scheduler counts the question only if somebody still waits for the answer."""
        scheduler.peek(now)
        with self._lock:
            if not self._dropped:
                self._verdict = scheduler.ask(now)
                self._done.set()

    def get(self, seconds: float) -> Verdict | None:
        """Return the verdict, None if it is late or could not be made."""
        self._done.wait(seconds)
        with self._lock:
            self._dropped = True
            return self._verdict


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
