"""Work with a time limit, for a control loop that must not wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any


class DeadlineExceeded(Exception):
    """The work was not done in time."""


class Work(Future):
    """Two steps of work; `make` is left out once nobody waits for it (`abandoned`)."""

    def __init__(
        self, learn: Callable[[], Any], make: Callable[[Any], Any] = lambda learned: learned
    ) -> None:
        super().__init__()
        self.learn, self.make, self.abandoned, self.behind = learn, make, False, False

    def do(self) -> None:
        """Run `learn`, then `make` on its result, and keep what comes of it."""
        try:
            learned = self.learn()
            self.set_result(None if self.abandoned else self.make(learned))
        except Exception as error:
            self.set_exception(error)

    def outcome(self, timeout: float | None) -> Any:
        """Return the result; its exceptions are raised.

        Raises `DeadlineExceeded` after `timeout` seconds; `learn` still completes in the background, and what
        `make` would have returned is discarded.
        """
        if not wait([self], None if timeout is None else min(timeout, threading.TIMEOUT_MAX)).done:
            self.abandoned = True
            why = ", behind the late work of an earlier update" if self.behind else ""
            raise DeadlineExceeded(f"not done within {timeout} s{why}")
        return self.result()


class Worker:
    """Does work in order, so that an estimator learns in order, in a thread that ends when there is none."""

    def __init__(self) -> None:
        self._queue: deque[Work] = deque()
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether work still runs, be it late."""
        return any(not work.done() for work in tuple(self._queue))

    def begin(self, work: Work) -> Work:
        """Have work done in the background, after all earlier work."""
        work.behind = self.busy
        with self._lock:
            self._queue.append(work)
            if len(self._queue) == 1:
                threading.Thread(target=self._do_all, daemon=True, name="replan-worker").start()
        return work

    def _do_all(self) -> None:
        more = True
        while more:
            work = self._queue[0]
            try:
                work.do()
            except BaseException as error:
                work.set_exception(RuntimeError(f"the work ended with {type(error).__name__}"))
            with self._lock:
                self._queue.popleft()
                more = bool(self._queue)
