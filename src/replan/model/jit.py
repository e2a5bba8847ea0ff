"""Numba with a disk cache that a read-only machine cannot break.

Compiled code is cached beside the source, else in the user's cache folder, else in the temporary folder,
else not at all.
"""

import os
import tempfile

import numba
from numba.core import config


def jit(function, **options):
    """Compile lazily, serially and cached where any folder can be written."""
    for folder in (None, os.path.join(tempfile.gettempdir(), "replan-numba")):  # noqa: PTH118
        if folder is not None:
            config.CACHE_DIR = folder  # pyright: ignore[reportAttributeAccessIssue]
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except (RuntimeError, OSError):
            continue
    return numba.njit(nogil=True, **options)(function)
