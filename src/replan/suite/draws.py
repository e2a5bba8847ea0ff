"""Random parameters from counter-based streams, so that a world depends on its name alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from replan.model.kernel import Array
from replan.model.streams import WORLD, uniforms

DIGITS = 4
"""Decimals of drawn numbers, so that settings are short and the same everywhere."""
Item = TypeVar("Item")


class Draws:
    """A stream of random numbers; the same name gives the same stream."""

    def __init__(self, name: str) -> None:
        self._seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        self._drawn = 0

    def numbers(self, low: float, high: float, count: int) -> Array:
        """Return (count,) numbers between low and high, each rounded."""
        drawn = uniforms(self._seed, self._drawn + np.arange(count), WORLD)
        self._drawn += count
        return np.round(low + (high - low) * drawn, DIGITS)

    def number(self, low: float, high: float) -> float:
        """Return a number between low and high, rounded."""
        return float(self.numbers(low, high, 1)[0])

    def whole(self, low: int, high: int) -> int:
        """Return a whole number from low to high, both included."""
        drawn = uniforms(self._seed, self._drawn, WORLD)
        self._drawn += 1
        return low + int(drawn * (high - low + 1))

    def pick(self, items: Sequence[Item]) -> Item:
        """Return one of the items."""
        return items[self.whole(0, len(items) - 1)]

    def times(self, count: int, low: int, high: int) -> list[int]:
        """Return at most `count` distinct whole numbers from low to high, ascending."""
        return sorted({self.whole(low, high) for _ in range(count)})
