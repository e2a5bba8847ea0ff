"""Versions of the code and the libraries with which results are made."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

import replan

APART = {"suite", "report", "robots", "environments", "explore", "commands", "cli.py", "__main__.py"}
"""Parts of replan that no cell depends on, unless one of its measures is defined there."""
CODE, DATA = (".py",), (".csv", ".toml", ".npz")
CONTINUES = ("(", "[", "{", ",", "=", "+", "\\", '"', "'")
"""Ends of a line after which a string is part of an expression."""


def versions() -> dict[str, str]:
    """Return the versions of Python, replan and the libraries that numbers depend on."""
    packages = ("numpy", "scipy", "numba")
    return {
        "python": platform.python_version(),
        "replan": code_version(),
        **{name: version(name) for name in packages},
    }


def code_version(*modules: str) -> str:
    """Return the version of replan and a hash of the code and data that results of cells depend on.

    The code is that of the packages that computing a cell may import, and of those of further `modules`,
    in which measures are defined. Comments, docstrings and empty lines do not count, nor do study files.
    """
    further = {module.split(".", 1)[1].replace(".", "/").rpartition("/")[0] for module in modules}
    return f"{replan.__version__}+{_digest(frozenset(further) - {'study'})[:12]}"


@cache
def _digest(further: frozenset[str]) -> str:
    root = Path(replan.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        inner = path.relative_to(root)
        counts = inner.parts[0] not in APART or inner.parent.as_posix() in further
        if counts and path.suffix in (*CODE, *DATA) and inner.parts[:2] != ("study", "studies"):
            text = (
                "\n".join(code_lines(path.read_text())).encode() if path.suffix in CODE else path.read_bytes()
            )
            digest.update(f"{inner.as_posix()}\0".encode() + text + b"\0")
    return digest.hexdigest()


def code_lines(text: str) -> Iterator[str]:
    """Yield the lines of a Python file without comments, docstrings and empty lines."""
    before, in_docstring, in_string = "", False, False
    for line in text.splitlines():
        words = line.strip()
        if in_docstring:
            in_docstring = not words.endswith('"""')
        elif words.startswith('"""') and not in_string and not before.endswith(CONTINUES):
            in_docstring = len(words) < 6 or not words.endswith('"""')
        elif in_string or (words and not words.startswith("#")):
            in_string ^= words.count('"""') % 2 == 1
            before = words
            yield line.rstrip()
