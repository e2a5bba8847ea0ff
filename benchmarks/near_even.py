"""How far the regret of even spacing is luck: schedules within one step of it, on random kernels.

`python -m benchmarks.near_even` prints in how many of the 26 worlds of the tune part a schedule whose updates
all lie within one step of even spacing has more than 1.1 times its regret plus 0.02. A rule that knows
nothing of what is to come cannot tell these schedules from even spacing itself.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

from replan import FixedTimes, Mission, regret
from replan.planning.optimal_values import oracle
from replan.schedule.periodic import even_times
from replan.skip.acting import EXECUTIONS
from replan.suite import suite_worlds

FAMILY = "kernels"


def neighbours(times: tuple[int, ...], horizon: int) -> list[tuple[int, ...]]:
    """All schedules but this one whose updates, the first one aside, lie within one step of it."""
    moves = product((0,), *[(-1, 0, 1)] * (len(times) - 1))
    near = [tuple(t + by for t, by in zip(times, each, strict=True)) for each in moves]
    return [each for each in near if each != times and all(a < b for a, b in pairwise((*each, horizon)))]


def above_limit(mission: Mission) -> np.ndarray:
    """(N,) whether each schedule near even spacing is above the limit."""
    best = oracle(mission.world)
    even = even_times(mission.horizon, mission.spending.required_limit())
    limit = 1.1 * regret(mission, FixedTimes(even), best=best) + 0.02
    near = neighbours(even, mission.horizon)
    return np.array([regret(mission, FixedTimes(times), best=best) > limit for times in near])


def main() -> None:
    worlds = [world for world in suite_worlds("tune") if world.family == FAMILY]
    for execution in EXECUTIONS:
        found = [above_limit(world.mission(execution)) for world in worlds]
        some, drawn = (sum(each) for each in zip(*[(near.any(), near.mean()) for near in found], strict=True))
        print(
            f"{execution}: in {some} of {len(found)} worlds some schedule near even spacing is above the "
            f"limit, one drawn at random in {drawn:.1f}"
        )


if __name__ == "__main__":
    main()
