"""Names of a package that are imported when they are first used.

The package's stub `__init__.pyi` is the one list of them: type checkers read it, and so does `exports`.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any


def exports(init: str) -> dict[str, str]:
    """Return the module of each name that the stub beside the file `init` imports."""
    stub = ast.parse(Path(init).with_suffix(".pyi").read_text())
    return {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if alias.asname
    }


def load(package: str, modules: dict[str, str], name: str) -> Any:
    """Return the exported name of a package, for its `__getattr__`."""
    if name not in modules:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(import_module(modules[name]), name)
