"""Sampling skip intervals in one compiled loop, where the world is one slippery grid.

The numbers drawn and the order of additions are those of stepping one by one, so the results are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from replan.model.kernel import Array, Indices
from replan.model.slip import SlipKernel
from replan.model.tvmdp import TVMDP
from replan.skip.propagate import MapPropagation, Propagation


@dataclass(frozen=True)
class SlipCourse:
    """A grid whose moves stay, and all that changes in it."""

    shape: tuple[int, int]
    blocked: np.ndarray = field(repr=False)  # as in SlipKernel
    slip: Array = field(repr=False)  # (T, S), or (T, 1) where it is the same everywhere
    law: Array = field(repr=False)  # (T, A)
    reward: Array = field(repr=False)  # (T, S) of the next state, or (1, S) where it is the same at all times


def slip_course(world: TVMDP) -> SlipCourse | None:
    """The world's course, or None where something else changes in it than slip, law and next-state reward."""
    kernels, rewards = [], []
    for t in range(world.horizon):
        kernel, reward = world.kernel(t), world.reward(t)
        if not isinstance(kernel, SlipKernel) or reward.state_action is not None:
            return None
        if kernels and not (kernel.same_moves(kernels[0]) and kernel.slip.size == kernels[0].slip.size):
            return None
        kernels.append(kernel)
        rewards.append(reward.next_state)
    same_reward = all(reward is rewards[0] for reward in rewards)
    return SlipCourse(
        kernels[0].shape,
        kernels[0].blocked,
        np.concatenate([kernel.slip for kernel in kernels]).reshape(world.horizon, -1),
        np.concatenate([kernel.law for kernel in kernels]).reshape(world.horizon, -1),
        np.stack(rewards[:1] if same_reward else rewards),
    )


def walk(
    course: SlipCourse,
    intervals: Mapping[int, Propagation],
    seeds: Indices,
    states: Indices,
    gained: Array,
    *,
    end: int,
) -> tuple[Indices, Array]:
    """(N,) states at `end` and what was `gained` till then, of robots that are in `states` when it begins.

    `intervals` tells by the time of each update, ascending, how the robots act from then on, which must be
    MAP execution.
    """
    from replan.skip import compiled

    begin, hows = min(intervals), [how for how in intervals.values() if isinstance(how, MapPropagation)]
    states, gained = states.copy(), gained.copy()
    compiled.slip_walk(
        *course.shape,
        course.blocked,
        course.slip[begin:end],
        course.law[begin:end],
        course.reward if len(course.reward) == 1 else course.reward[begin:end],
        np.stack([how.policy for how in hows]),
        np.stack([how.following for how in hows]),
        np.repeat(np.arange(len(hows)), np.diff([*intervals, end])),
        seeds,
        begin,
        states,
        gained,
    )
    return states, gained
