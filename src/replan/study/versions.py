"""Versions of the code and the libraries with which results are made."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import replan

PRESENTATION = ("commands", "environments", "explore", "report", "__main__.py", "cli.py", "warm.py")


def versions() -> dict[str, str]:
    """Python, replan and what the numbers depend on."""
    packages = ("numpy", "scipy", "numba")
    return {
        "python": platform.python_version(),
        "replan": code_version(),
        **{name: version(name) for name in packages},
    }


@cache
def code_version() -> str:
    """The version of replan and a hash of its own code and data, but for what only shows results."""
    root = Path(replan.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        inner = path.relative_to(root)
        if path.suffix in (".py", ".toml", ".csv") and inner.parts[0] not in PRESENTATION:
            digest.update(f"{inner.as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return f"{replan.__version__}+{digest.hexdigest()[:12]}"
