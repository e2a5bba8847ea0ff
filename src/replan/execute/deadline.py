"""Work that may take too long for a control loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from replan.errors import InputError

Learned = TypeVar("Learned")
Made = TypeVar("Made")


class Late(Exception):
    """The work was not done in time."""


class Worker:
    """Does one piece of work after another, and lets nobody wait for longer than they said.

    Late work runs on in a thread and what comes after it waits its turn, so that an estimator is never asked
    twice at once and learns in order.
    """

    def __init__(self) -> None:
        self._last: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether late work still runs."""
        return self._last is not None and self._last.is_alive()

    def within(
        self, seconds: float | None, learn: Callable[[], Learned], make: Callable[[Learned], Made]
    ) -> Made:
        """What is made of what is learned, or `Late`; exceptions of the work come through.

        Late work learns all the same, but makes nothing any more, or what it makes is dropped.
        """
        if seconds is None and not self.busy:
            return make(learn())
        before, behind = self._last, self.busy
        late = threading.Event()
        outcome: list = []

        def run() -> None:
            try:
                if before is not None:
                    before.join()
                learned = learn()
                if not late.is_set():
                    outcome.append((make(learned), None))
            except BaseException as error:
                outcome.append((None, error))

        self._last = threading.Thread(target=run, daemon=True, name="replan-update")
        self._last.start()
        self._last.join(None if seconds is None else min(seconds, threading.TIMEOUT_MAX))
        if not outcome:
            late.set()
            why = ", behind the late work of an earlier update" if behind else ""
            raise Late(f"no plan within {seconds} s{why}")
        made, error = outcome[0]
        if error is None:
            return made
        if isinstance(error, Exception):
            raise error
        raise RuntimeError(f"the work ended with {type(error).__name__}")  # the thread's exit, not the loop's


def check_time_limit(seconds: float | None) -> float | None:
    """The limit itself, or an `InputError`."""
    if seconds is not None and not seconds > 0:
        raise InputError(f"time_limit must be a positive number of seconds, not {seconds}")
    return seconds
