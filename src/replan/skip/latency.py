"""Updates that take time: how long, what the robot does meanwhile, and how a blind robot goes on afterwards.

An update begun at t looks at t, and its plan is in force from its arrival t + d on. Until then the old plan
acts, or the robot waits. At the arrival the estimate of a blind robot is propagated anew from the state seen
at t, with the new kernels, through the actions that were taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose
from typing import Any

import numpy as np

from replan.errors import InputError

Durations = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Latency:
    """The steps that updates take, and the action meanwhile."""

    durations: Durations = ((0, 1.0),)
    """(steps, probability) in ascending order; each update draws its own."""
    waiting: int | None = None
    """The action taken meanwhile; None: the old plan acts on."""

    @property
    def instant(self) -> bool:
        """Whether every update is done in the step in which it begins."""
        return self.durations == ((0, 1.0),)

    @property
    def longest(self) -> int:
        """The most steps that an update takes."""
        return self.durations[-1][0]

    @property
    def spacing(self) -> int:
        """Steps between two updates that always suffice."""
        return max(self.longest, 1)

    def drawn(self, number: float) -> int:
        """Return the steps that a uniform number in [0, 1) stands for."""
        total = 0.0
        for steps, probability in self.durations:
            total += probability
            if number < total:
                return steps
        return self.longest


INSTANT = Latency()


def read_durations(update_steps: Any) -> Durations:
    """Return steps and their probabilities. Raises `InputError` if they are neither a number nor drawn."""
    if not isinstance(update_steps, Mapping):
        if not _is_whole(update_steps):
            raise InputError(
                f"update_steps must be a whole number of at least 0, or {{steps: probability}}, "
                f"not {update_steps!r}"
            )
        return ((int(update_steps), 1.0),)
    for steps, probability in update_steps.items():
        if not _is_whole(steps):
            raise InputError(f"update_steps: {steps!r} is not a whole number of at least 0")
        number = isinstance(probability, (int, float)) and not isinstance(probability, bool)
        if not number or not 0 <= probability <= 1:
            raise InputError(f"update_steps: the probability of {steps} is {probability!r}, not 0 to 1")
    if not isclose(total := sum(update_steps.values()), 1.0, abs_tol=1e-9):
        raise InputError(f"update_steps: the probabilities add up to {total:.9g}, not 1")
    return tuple(sorted((int(steps), float(p)) for steps, p in update_steps.items() if p > 0))


def _is_whole(number: object) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool) and int(number) >= 0
