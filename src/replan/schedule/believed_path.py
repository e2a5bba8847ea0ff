"""The path that a robot believes it follows: each state the likeliest successor of the one before."""

from __future__ import annotations

import numpy as np

from replan.model.kernel import Indices
from replan.schedule.rule import Context


def believed_paths(context: Context, states: Indices, steps: int) -> Indices:
    """(R, steps + 1) states under the plan in force, from the `states` (R,) seen at the last update."""
    policy = context.plan.policy
    following = context.kernel.most_likely()[np.arange(len(policy)), policy]
    paths = np.empty((len(states), steps + 1), dtype=np.int64)
    paths[:, 0] = states
    for k in range(steps):
        paths[:, k + 1] = following[paths[:, k]]
    return paths
