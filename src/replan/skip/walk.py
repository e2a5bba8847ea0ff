"""Sampling skip intervals in one compiled loop, where the world is a slippery grid.

The numbers drawn and the order of additions are those of stepping one by one, so the results are the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from replan.model.kernel import Array, Indices
from replan.model.slip import SlipKernel
from replan.model.tvmdp import TVMDP
from replan.skip.propagate import MapPropagation, Propagation


def can_walk(world: TVMDP, how: Propagation, begin: int) -> bool:
    """Whether `walk` serves here: a slip kernel, MAP execution, rewards of the next state alone."""
    return (
        isinstance(how, MapPropagation)
        and isinstance(world.kernel(begin), SlipKernel)
        and world.reward(begin).state_action is None
    )


def walk(
    world: TVMDP,
    intervals: Mapping[int, Propagation],
    seeds: Indices,
    states: Indices,
    gained: Array,
    *,
    end: int,
) -> tuple[Indices, Array]:
    """(N,) states at `end` and what was `gained` till then, of robots that are in `states` when it begins.

    `intervals` tells by the time of each update, ascending, how the robots act from then on.
    """
    from replan.skip import compiled

    begin, hows = min(intervals), [how for how in intervals.values() if isinstance(how, MapPropagation)]
    kernels = [world.kernel(t) for t in range(begin, end)]
    rewards = [world.reward(t).next_state for t in range(begin, end)]
    first = kernels[0]
    assert isinstance(first, SlipKernel)
    same_reward = all(reward is rewards[0] for reward in rewards)
    states, gained = states.copy(), gained.copy()
    compiled.slip_walk(
        *first.shape,
        first.blocked,
        np.concatenate([kernel.slip for kernel in kernels]).reshape(len(kernels), -1),  # pyright: ignore[reportAttributeAccessIssue]
        np.concatenate([kernel.law for kernel in kernels]).reshape(len(kernels), -1),  # pyright: ignore[reportAttributeAccessIssue]
        np.stack(rewards[:1] if same_reward else rewards),  # pyright: ignore[reportArgumentType, reportCallIssue]
        np.stack([how.policy for how in hows]),
        np.stack([how.following for how in hows]),
        np.repeat(np.arange(len(hows)), np.diff([*intervals, end])),
        seeds,
        begin,
        states,
        gained,
    )
    return states, gained
