"""Changes that nothing announces: a world that stands still may jump at any time.

A plan that is made for them is worse while they do not come, so no plan is made for them. Look-ahead counts
on them: it keeps updates back, since it will hear of the jump by its drift bound.
"""

from __future__ import annotations

from collections.abc import Mapping

from replan.forecast.base import Evidence, Future, KernelAt
from replan.forecast.trend import Moved
from replan.model.kernel import Kernel

CHANCE = 0.3  # of a jump in the course of a whole mission
SIZE = 0.3  # by which a probability changes in it
TIMES = 3  # at which it may come, evenly spaced over the rest of the mission


def sudden_changes(evidence: Evidence, directions: Mapping[str, Moved]) -> tuple[Future, ...]:
    """Return one future for each time and direction; their weights add up to the chance of a jump at most."""
    now, end = len(evidence.drift_bounds), evidence.horizon
    chance = 1 - (1 - CHANCE) ** ((end - now) / end)
    times = [now + int((end - now) * (k + 0.5) / TIMES) for k in range(TIMES)]
    weight = chance / (TIMES * len(directions))
    return tuple(
        Future(f"{name} at {time}", weight, _jumping(evidence.kernel, moved(SIZE), time), planned=False)
        for time in dict.fromkeys(times)
        for name, moved in directions.items()
    )


def _jumping(kernel: Kernel, other: Kernel, time: int) -> KernelAt:
    return lambda t: kernel if t < time else other
