"""When should a robot replan? Update scheduling in time-varying Markov decision processes.

Names are loaded when they are first used, so that `import replan` costs next to nothing.
"""

import sys
from typing import Any

from replan._exports import exports, load
from replan._moved import MovedFinder

__version__ = "0.2.0"

_MODULES = exports(__file__)
__all__ = sorted(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]

if not any(isinstance(finder, MovedFinder) for finder in sys.meta_path):
    sys.meta_path.append(MovedFinder())


def __getattr__(name: str) -> Any:
    return load(__name__, _MODULES, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
