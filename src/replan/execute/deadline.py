"""Work that may take too long for a control loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float | None, work: Callable[[], Result]) -> Result:
    """The result of `work`, or a TimeoutError after `seconds`; its own exceptions come through.

    Late work runs on in a thread that nobody waits for, and its result is dropped.
    """
    if seconds is None:
        return work()
    outcome: list = []

    def run() -> None:
        try:
            outcome.append((work(), None))
        except Exception as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True, name="replan-update")
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutError
    result, error = outcome[0]
    if error is not None:
        raise error
    return result
