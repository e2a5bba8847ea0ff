"""The clock of a flight over a link: real time, or simulated time in tests."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock and the ways to wait on it."""

    def now(self) -> float:
        """Return the time in seconds."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        ...

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Return True once `event` is set, or False after `seconds`."""
        ...


class WallClock:
    """Real time."""

    def now(self) -> float:
        """Return the time in seconds."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        time.sleep(max(seconds, 0.0))

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Return True once `event` is set, or False after `seconds`."""
        return event.wait(seconds)


WALL_CLOCK = WallClock()
