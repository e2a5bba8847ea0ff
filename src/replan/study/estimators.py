"""The estimators that a study may name. A new one is one line here."""

from __future__ import annotations

from collections.abc import Callable

from replan.errors import InputError
from replan.estimate import Estimator, TrueKernel
from replan.execute.mission import Mission

TRUE_KERNEL = (
    "true-kernel"  # the only one whose estimate depends on the time alone, so that exact values exist
)

ESTIMATORS: dict[str, Callable[[Mission], Estimator]] = {
    TRUE_KERNEL: lambda mission: TrueKernel(mission.world),
}


def check_estimator(name: str) -> str:
    """The name itself, or an `InputError`."""
    if name not in ESTIMATORS:
        raise InputError(f"unknown estimator {name!r} (there are {', '.join(ESTIMATORS)})")
    return name
