"""Free memory of the machine: work that does not fit into it is refused."""

from __future__ import annotations

import os
from pathlib import Path

from replan.errors import InputError

SHARE = 0.9
"""Share of the free memory that one piece of work may take."""
NUMBER = 8
"""Bytes of a float or an index."""
LITTLE = 1e7
"""Work of fewer bytes is done without asking how many are free."""


def require_memory(numbers: float, purpose: str, instead: str = "") -> None:
    """Raise `InputError` if so many floats and indices do not fit into free memory.

    The message ends with `instead`, which names work that would fit.
    """
    needed = NUMBER * numbers
    if needed > LITTLE and needed > SHARE * (free := free_bytes()):
        raise InputError(
            f"{purpose} needs about {_shown(needed)} of memory, and {_shown(free)} are free{instead}"
        )


def require_pairs(states: int, tables: float, purpose: str) -> None:
    """Raise `InputError` if so many tables of all pairs of states do not fit into memory."""
    fit = int((SHARE * free_bytes() / NUMBER / tables) ** 0.5)
    require_memory(
        tables * states**2, f"{purpose}, all pairs of {states} states,", f": about {fit} states would fit"
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
