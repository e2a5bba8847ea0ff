"""How things are timed: warmed up, in turns, the best of several."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypedDict


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


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
