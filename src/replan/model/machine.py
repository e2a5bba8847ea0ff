"""The machine: work that does not fit into its memory is refused, large loops run on all its cores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from replan.errors import InputError

SHARE = 0.9
"""Of the free memory that one piece of work may take."""
NUMBER = 8
"""Bytes of a float or an index."""
LITTLE = 1e7
"""Bytes for which it is not worth asking what is free."""
SERIAL_BELOW = 10_000
"""States; under this, handing out work costs more than it gives."""


def require_memory(numbers: float, purpose: str, instead: str = "") -> None:
    """Raise `InputError` if so many floats and indices do not fit into free memory.

    Its line ends in `instead`, what would fit.
    """
    needed = NUMBER * numbers
    if needed > LITTLE and needed > SHARE * (free := free_bytes()):
        raise InputError(
            f"{purpose} needs about {_shown(needed)} of memory, and {_shown(free)} are free{instead}"
        )


def free_bytes() -> float:
    """Return the memory that is free: that of the machine, of the container and of the process limit."""
    return min(_machine(), _container(), _process())


def _machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return float("inf")


def _container() -> float:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = (folder / "memory.current").read_text().strip()
        return float("inf") if limit == "max" else float(limit) - float(used)
    except (OSError, ValueError):
        return float("inf")


def _process() -> float:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError):
        return float("inf")
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit - used)


def _shown(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:.3g} {unit}"
        size /= 1000
    return ""


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
