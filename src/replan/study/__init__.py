"""Studies: their files, the protocol that chooses hyper-parameters, engines, the store and its records.

Names are loaded when they are first used.
"""

from typing import Any

from replan._exports import exports, load

_MODULES = exports(__file__)
__all__ = sorted(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    return load(__name__, _MODULES, name)


def __dir__() -> list[str]:
    return __all__
