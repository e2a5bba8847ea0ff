"""Changes that nothing announces: a world that stands still may jump at any time.

A plan that is made for them is worse while they do not come, so no plan is made for them. Look-ahead counts
on them: the drift bound of a jump reveals it at once, so an update that is kept until then is spent where it
is worth most.
"""

from __future__ import annotations

from collections.abc import Mapping

from replan.forecast.base import Evidence, Future, KernelAt
from replan.forecast.trend import Moved
from replan.model.kernel import Kernel

CHANCE = 0.6  # of a jump in the course of a whole mission
SIZE = 0.5  # by which a probability changes in it
TIMES = 3  # at which it may come, evenly spaced over the rest of the mission


def sudden_changes(
    evidence: Evidence, directions: Mapping[str, Moved], *, least: float
) -> tuple[Future, ...]:
    """Return one future for each time and direction in which a probability changes by more than `least`.

    All directions have the same share of the chance of a jump; where nothing can move, there is no future.
    """
    now, end, kernel = len(evidence.drift_bounds), evidence.horizon, evidence.kernel
    chance = 1 - (1 - CHANCE) ** ((end - now) / end)
    times = [max(now + 1, now + int((end - now) * (k + 0.5) / TIMES)) for k in range(TIMES)]
    weight = chance / (TIMES * len(directions))
    jumped = {name: moved(SIZE) for name, moved in directions.items()}
    return tuple(
        Future(f"{name} at {time}", weight, _jumping(kernel, other, time), planned=False, revealed=time)
        for time in dict.fromkeys(times)
        if time < end
        for name, other in jumped.items()
        if other.entrywise_distance(kernel).max() > least
    )


def _jumping(kernel: Kernel, other: Kernel, time: int) -> KernelAt:
    return lambda t: kernel if t < time else other
