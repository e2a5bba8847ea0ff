"""How things are timed: warmed up, in turns, the best of several."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypedDict

SHORTEST = 0.01  # seconds of one measurement, so that caches are as warm for short work as for long


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
    """Time both sides in turns, so that a busy machine is busy for both; the best of each counts."""
    ours()
    if peer is not None:
        peer()
    mine, theirs = [], []
    for _ in range(repeat):
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
    """Wall-clock time of one call; of a short one the mean of as many as fill a few milliseconds."""
    calls, began = 0, time.perf_counter()
    while True:
        work()
        calls += 1
        passed = time.perf_counter() - began
        if passed >= SHORTEST:
            return passed / calls
