"""Simulated time: it passes only while every thread that lives by it waits."""

from __future__ import annotations

import threading

from replan.robots.crazyflie.craft import FlightClock


class SimulatedClock(FlightClock):
    """A clock that the peer advances. A thread joins by its first wait and leaves by ending."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._lock = threading.Lock()
        self._joined: set[threading.Thread] = set()
        self._waiting: dict[threading.Thread, tuple[float, threading.Event | None, threading.Event]] = {}
        self._error: BaseException | None = None

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._wait(seconds, None)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self._wait(seconds, event)
        return event.is_set()

    def advance(self, step: float) -> bool:
        """Let time pass if everyone waits; return whether it did."""
        with self._lock:
            if not self._joined or self._joined - self._waiting.keys():
                self._joined = {thread for thread in self._joined if thread.is_alive()}
                return False
            self._now += step
            for thread, (until, event, wake) in list(self._waiting.items()):
                if self._now >= until or (event is not None and event.is_set()):
                    del self._waiting[thread]
                    wake.set()
            return True

    def stop(self, error: BaseException) -> None:
        """Let no more time pass: every wait ends with an error that names this one."""
        with self._lock:
            self._error = error
            for _, _, wake in self._waiting.values():
                wake.set()

    def _wait(self, seconds: float, event: threading.Event | None) -> None:
        me, wake = threading.current_thread(), threading.Event()
        with self._lock:
            self._check()
            self._joined.add(me)
            if event is not None and event.is_set():
                return
            self._waiting[me] = (self._now + seconds, event, wake)
        try:
            wake.wait()
        finally:  # interrupted by a signal
            with self._lock:
                self._waiting.pop(me, None)
        self._check()

    def _check(self) -> None:
        if self._error is not None:
            raise RuntimeError(f"simulated time has stopped: {self._error!r}") from self._error
