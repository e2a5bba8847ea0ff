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
from contextlib import contextmanager, suppress
from pathlib import Path

import numba
from numba.core import config
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys


class LoadedCode(FunctionCache):
    """Numba's cache on disk. Loading code prepares numba for memory, not for compiling."""

    def load_overload(self, sig, target_context):
        """Return the code cached for a signature, or None.

        Numba would first register every function that it can compile, which takes a quarter of a second.
        Cached code calls numba's memory only; without an entry the compiler does the rest itself.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def jit(function, *, signature: str | None = None, **options):
    """Compile without the interpreter lock, cached where possible: now for a given signature, else on use."""
    compiled = numba.njit(nogil=True, **options)(function)
    with suppress(RuntimeError, OSError):
        compiled._cache = _cache_of(function)  # pyright: ignore[reportAttributeAccessIssue]
    if signature is not None:
        compiled.compile(signature)
        compiled.disable_compile()
    return compiled


def _cache_of(function) -> LoadedCode:
    """Return the function's cache, or raise `RuntimeError` or `OSError` where nothing can be kept."""
    try:
        return LoadedCode(function)
    except (RuntimeError, OSError):
        with _cached_in(_private_folder()):
            return LoadedCode(function)


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
