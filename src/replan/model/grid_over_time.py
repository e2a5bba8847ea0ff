"""A world that is one slippery grid, as arrays over time for compiled loops."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from replan.model.kernel import Array
from replan.model.slip import SlipKernel
from replan.model.tvmdp import TVMDP


@dataclass(frozen=True)
class GridOverTime:
    """A grid with fixed obstacles, and its slip, slip law and reward at every time."""

    shape: tuple[int, int]
    blocked: np.ndarray = field(repr=False)  #: as in `SlipKernel`
    slip: Array = field(repr=False)  #: (T, S), or (T, 1) where it is the same everywhere
    law: Array = field(repr=False)  #: (T, A) slip law
    reward: Array = field(
        repr=False
    )  #: (T, S) of the next state, or (1, S) where it is the same at all times


def grid_over_time_of(world: TVMDP) -> GridOverTime | None:
    """Return the world as arrays, or None if more than slip, slip law and next-state reward changes in it."""
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
    return GridOverTime(
        kernels[0].shape,
        kernels[0].blocked,
        np.concatenate([kernel.slip for kernel in kernels]).reshape(world.horizon, -1),
        np.concatenate([kernel.law for kernel in kernels]).reshape(world.horizon, -1),
        np.stack(rewards[:1] if same_reward else rewards),
    )
