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


class BackgroundWork:
    """Two steps of work; the second is left out once the caller has gone."""

    def __init__(self, learn: Callable[[], Any], make: Callable[[Any], Any]) -> None:
        self.learn, self.make = learn, make
        self.abandoned, self.finished = threading.Event(), threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Do the work, and keep its result or its exception."""
        try:
            learned = self.learn()
            if not self.abandoned.is_set():
                self.result = self.make(learned)
        except BaseException as error:
            self.error = error

    @property
    def done(self) -> bool:
        """Whether the work has ended."""
        return self.finished.is_set()

    def outcome(self) -> Any:
        """Return the result of work that is done. Its exceptions are raised."""
        if self.error is None:
            return self.result
        if isinstance(self.error, Exception):
            raise self.error
        raise RuntimeError(f"the work ended with {type(self.error).__name__}")


class Worker:
    """Runs jobs one after another, in one thread, so that an estimator learns in order."""

    def __init__(self) -> None:
        self._jobs: deque[BackgroundWork] = deque()
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
        job = BackgroundWork(learn, make)
        behind = self._add(job)
        if not job.finished.wait(None if timeout is None else min(timeout, threading.TIMEOUT_MAX)):
            job.abandoned.set()
            why = ", behind the late work of an earlier update" if behind else ""
            raise DeadlineExceeded(f"not done within {timeout} s{why}")
        return job.outcome()

    def begin(self, learn: Callable[[], Any], make: Callable[[Any], Any]) -> BackgroundWork:
        """Run `learn`, then `make` on its result, in the background and after all earlier work."""
        job = BackgroundWork(learn, make)
        self._add(job)
        return job

    def post(self, work: Callable[[], Any]) -> None:
        """Run `work` in the background, after all earlier work; its exceptions are dropped."""
        self._add(BackgroundWork(work, lambda _: None))

    def _add(self, job: BackgroundWork) -> bool:
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


def described(error: Exception) -> str:
    """Return what went wrong in one line."""
    return str(error) if isinstance(error, DeadlineExceeded) else f"{type(error).__name__}: {error}"
