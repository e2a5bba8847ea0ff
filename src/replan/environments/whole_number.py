"""Validation of whole numbers."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from replan.errors import InputError


def whole_number(name: str, value: Any, *, least: int) -> int:
    """Return the value; anything but a whole number of at least `least` raises an `InputError`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)
