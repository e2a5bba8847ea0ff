"""Large loops run in bands, one per core; small ones run serially."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

SERIAL_BELOW = 10_000  # states; under this, handing out work costs more than it gives


@cache
def _threads(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="replan")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_bands(loop, count: int, size: int, *arguments) -> None:
    """Call loop(first, last, *arguments) so that [0, count) is covered; `size` is the number of states.

    The loops release the interpreter lock and write to separate places, so the result is the same.
    """
    workers = 1 if size < SERIAL_BELOW else _cores()
    if workers == 1:
        loop(0, count, *arguments)
        return
    edges = [count * band // workers for band in range(workers + 1)]
    pool = _threads(workers)
    for done in [pool.submit(loop, edges[k], edges[k + 1], *arguments) for k in range(workers)]:
        done.result()
