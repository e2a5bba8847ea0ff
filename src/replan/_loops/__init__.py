"""Compiled loops, one module for each part of the library that uses them.

`from replan import _loops` costs nothing: `_loops.stencil.push(...)` loads numba and that module on first
use, and is plain attribute access from then on. Nothing here imports from the rest of replan.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replan._loops import (
        certificates,
        general,
        grid_passes,
        interior_point,
        parameter_range,
        segments,
        stencil,
    )

__all__ = [
    "certificates",
    "general",
    "grid_passes",
    "interior_point",
    "parameter_range",
    "segments",
    "stencil",
]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")  # which also makes it an attribute of this package


def load(*names: str) -> None:
    """Load modules now, so that no later call waits for them."""
    for name in names:
        import_module(f"{__name__}.{name}")
