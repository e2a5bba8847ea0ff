"""Numba with a disk cache that a read-only machine cannot break.

Compiled code is cached beside the source, else in the user's cache folder, else in a folder of the user's own
within the temporary one, else not at all: what is cached is run, so it must be nobody else's.
"""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numba
from numba.core import config


def jit(function, **options):
    """Compile lazily, serially and cached where a folder can be written."""
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    except (RuntimeError, OSError):
        pass
    try:
        with _cached_in(own_folder()):
            return numba.njit(cache=True, nogil=True, **options)(function)
    except (RuntimeError, OSError):
        return numba.njit(nogil=True, **options)(function)


def own_folder() -> Path:
    """A folder in the temporary one that only this user can enter; `PermissionError` if it is another's."""
    user = os.getuid() if hasattr(os, "getuid") else "own"
    folder = Path(tempfile.gettempdir()) / f"replan-numba-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or (
        hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077)
    ):
        raise PermissionError(f"{folder} is not a folder of this user alone")
    return folder


@contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Numba looks at its setting when a function is decorated; everyone else's functions keep theirs."""
    before = config.CACHE_DIR  # pyright: ignore[reportAttributeAccessIssue]
    config.CACHE_DIR = str(folder)  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        config.CACHE_DIR = before  # pyright: ignore[reportAttributeAccessIssue]
