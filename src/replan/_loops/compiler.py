"""Numba with a disk cache that works on a read-only machine.

Compiled code is cached beside the source, else in the user's cache folder, else in a folder of the user's
own within the temporary one, else not at all. Cached code is executed, so a folder that others can write is
never used.
"""

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.np import linalg

LINALG: Any = linalg


def _register_arrays() -> None:
    """Load numba's functions of arrays without its look for BLAS, which imports all of `scipy.linalg`.

    SciPy is installed with replan, so the answer is known. Code that calls BLAS still loads it.
    """
    look_for_blas = getattr(LINALG, "ensure_blas", None)
    LINALG.ensure_blas = lambda: None
    try:
        import_module("numba.np.arraymath")
    finally:
        LINALG.ensure_blas = look_for_blas


_register_arrays()


def jit(function, *, signature: str | None = None, **options):
    """Compile without the interpreter lock, cached where possible: now for a given signature, else on use."""
    compiler = partial(numba.njit, signature, nogil=True, **options)
    try:
        return compiler(cache=True)(function)
    except (RuntimeError, OSError):
        pass
    try:
        with _cached_in(_private_folder()):
            return compiler(cache=True)(function)
    except (RuntimeError, OSError):
        return compiler()(function)


def _private_folder() -> Path:
    """Return a folder in the temporary one that only this user can enter, or raise `PermissionError`."""
    user = os.getuid() if sys.platform != "win32" else "own"
    folder = Path(tempfile.gettempdir()) / f"replan-numba-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or (
        sys.platform != "win32" and (status.st_uid != os.getuid() or status.st_mode & 0o077)
    ):
        raise PermissionError(f"{folder} is open to other users")
    return folder


@contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Set numba's cache folder, which it reads when a function is decorated, and set it back."""
    before = config.CACHE_DIR  # pyright: ignore[reportAttributeAccessIssue]
    config.CACHE_DIR = str(folder)  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        config.CACHE_DIR = before  # pyright: ignore[reportAttributeAccessIssue]
