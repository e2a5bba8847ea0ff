"""What a result was made with."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    """Python, replan and what the numbers depend on."""
    packages = ("replan", "numpy", "scipy", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
