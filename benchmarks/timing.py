"""How things are measured: times warmed up, in turns in one process, the least of several.

On a machine that others use the least time of many calls is what varies least; of short work every call is
timed on its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

SHORTEST = 0.01  # seconds of one turn, so that caches are as warm for short work as for long
SHORT, TURNS = 0.001, 50  # work of less than SHORT seconds is given at least so many turns


class Row(TypedDict):
    """One line of the table."""

    what: str
    ours_seconds: float
    peer: str | None
    peer_seconds: float | None


def compare(
    what: str,
    ours: Callable[[], object],
    peer_name: str | None = None,
    peer: Callable[[], object] | None = None,
    *,
    repeat: int = 5,
) -> Row:
    """Time both sides in turns, so that a busy machine is busy for both; the least of each counts."""
    ours()
    if peer is not None:
        peer()
    mine, theirs = [], []
    for _ in range(max(repeat, TURNS) if seconds(ours) < SHORT else repeat):
        mine.append(seconds(ours))
        if peer is not None:
            theirs.append(seconds(peer))
    return Row(
        what=what, ours_seconds=min(mine), peer=peer_name, peer_seconds=min(theirs) if theirs else None
    )


def alone(what: str, ours: float) -> Row:
    """A row without a peer."""
    return Row(what=what, ours_seconds=ours, peer=None, peer_seconds=None)


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock time of one call, the least of as many as fill a few milliseconds."""
    least, began = float("inf"), time.perf_counter()
    while (before := time.perf_counter()) < began + SHORTEST:
        work()
        least = min(least, time.perf_counter() - before)
    return least


def peak_megabytes() -> float:
    """Peak memory of this process; `ru_maxrss` begins with that of the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
