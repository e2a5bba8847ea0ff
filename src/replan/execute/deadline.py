"""Work with a time limit, for a control loop that must not wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

Learned = TypeVar("Learned")
Made = TypeVar("Made")


class DeadlineExceeded(Exception):
    """The work was not done in time."""


class _Job:
    """Two steps of work; the second is left out once the caller has gone."""

    def __init__(self, learn: Callable[[], Any], make: Callable[[Any], Any]) -> None:
        self.learn, self.make = learn, make
        self.abandoned, self.finished = threading.Event(), threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            learned = self.learn()
            if not self.abandoned.is_set():
                self.result = self.make(learned)
        except BaseException as error:
            self.error = error


class Worker:
    """Runs jobs one after another, in one thread, so that an estimator learns in order."""

    def __init__(self) -> None:
        self._jobs: deque[_Job] = deque()
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether late work still runs."""
        return bool(self._jobs)

    def run(
        self, learn: Callable[[], Learned], make: Callable[[Learned], Made], *, timeout: float | None
    ) -> Made:
        """Run `learn`, then `make` on its result, after all earlier work. Their exceptions are raised.

        Raises `DeadlineExceeded` after `timeout` seconds; `learn` still completes in the background, and what
        `make` would have returned is discarded.
        """
        job = _Job(learn, make)
        behind = self._add(job)
        if not job.finished.wait(None if timeout is None else min(timeout, threading.TIMEOUT_MAX)):
            job.abandoned.set()
            why = ", behind the late work of an earlier update" if behind else ""
            raise DeadlineExceeded(f"not done within {timeout} s{why}")
        if job.error is None:
            return job.result
        if isinstance(job.error, Exception):
            raise job.error
        raise RuntimeError(f"the work ended with {type(job.error).__name__}")

    def post(self, work: Callable[[], Any]) -> None:
        """Run `work` in the background, after all earlier work; its exceptions are dropped."""
        self._add(_Job(work, lambda _: None))

    def _add(self, job: _Job) -> bool:
        """Queue a job and return whether it has to wait for an earlier one."""
        with self._lock:
            behind = bool(self._jobs)
            self._jobs.append(job)
            if not behind:
                threading.Thread(target=self._work, daemon=True, name="replan-worker").start()
        return behind

    def _work(self) -> None:
        more = True
        while more:
            job = self._jobs[0]
            job.run()
            with self._lock:
                self._jobs.popleft()
                more = bool(self._jobs)
            job.finished.set()
