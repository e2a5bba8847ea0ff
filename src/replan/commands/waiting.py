"""A sign of life on standard error while a command computes for more than a few seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FIRST = 3.0
"""Seconds of silence before the first line."""
BETWEEN = 10.0
"""Seconds between two lines where standard error is not a terminal."""
ON_TERMINAL = 1.0

Doing = Callable[[str], None]


@contextmanager
def waiting(*, quiet: bool) -> Iterator[Doing]:
    """Yield a function that takes what is being done; it is shown with the time after three seconds."""
    now = {"doing": "working"}
    done = threading.Event()
    terminal = sys.stderr.isatty()

    def tell() -> None:
        began, pause = time.monotonic(), FIRST
        while not done.wait(pause):
            pause = ON_TERMINAL if terminal else BETWEEN
            text = f"{now['doing']}, {time.monotonic() - began:.0f} s; Ctrl-C stops"
            print(f"\r{text}\033[K" if terminal else text, end="" if terminal else "\n", file=sys.stderr)
            sys.stderr.flush()

    def doing(what: str) -> None:
        now["doing"] = what

    if quiet:
        yield doing
        return
    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield doing
    finally:
        done.set()
        teller.join()
        if terminal:
            print("\r\033[K", end="", file=sys.stderr)
            sys.stderr.flush()
