"""Thin ice: a short way over a river that melts, and a long safe way over a bridge.

    S . . . . . . .     S start, G goal, both in the first column
    . . . . . . . .     # ice: a step that ends on it breaks it with the failure rate of that time
    # # ~ ~ ~ ~ = =     ~ open water: entered only by falling through the ice
    . . . . . . . .     = bridge: always safe
    G . . . . . . .

Who breaks through is swept along the river, pays `fall_cost` and climbs out on the near bank in the next
step. The failure rate is part of the kernel and the cost belongs to being in the water, so a robot that
plans with an old kernel believes in the old ice: the plan made at the start walks onto melted ice, and the
update that matters is the one just before the choice between ice and bridge.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from replan.errors import InputError
from replan.model import TVMDP, GeneralKernel, Reward, SlipKernel, constant
from replan.model.kernel import Array, Indices
from replan.worlds.rover import DISTANCE_SCALE, distances


def build(
    *,
    n: int = 12,
    horizon: int = 40,
    slip: float = 0.04,
    failure: float = 0.02,
    worst_failure: float = 0.8,
    melt_begin: int = 0,
    melt_steps: int = 9,
    fall_cost: float = 3.0,
    swept: int = 3,
    ice_width: int = 3,
    river: int = 9,
    bridge: int = 5,
) -> TVMDP:
    """An n x n grid crossed by a river in the row `river`; the defaults are the setting `thin-ice-hard`.

    Ice covers the columns 0 to ice_width - 1 of the river, the bridge every column from `bridge` on. The
    failure rate is `failure` up to the time `melt_begin` and then climbs in `melt_steps` equal steps to
    `worst_failure`. Who falls is swept `swept` columns along. `slip` is that of every cell, at all times.
    """
    _check(n, failure, worst_failure, melt_steps, swept, ice_width, river, bridge)
    ice = river * n + np.arange(ice_width)
    water = river * n + np.arange(ice_width, bridge)
    falls_to = np.arange(n * n)
    falls_to[ice] = np.clip(ice + swept, water[0], water[-1])
    solid = SlipKernel((n, n), slip, blocked=np.isin(np.arange(n * n), water)).general()
    solid = _climbing_out(solid, water, bank=water - n)
    failures = failure_rates(horizon, failure, worst_failure, melt_begin, melt_steps)
    breaking = cache(lambda rate: _breaking(solid, falls_to, rate))
    next_state = -distances(n, (n - 1, 0)) / DISTANCE_SCALE
    next_state[water] -= fall_cost
    return TVMDP(
        horizon=horizon,
        kernel=lambda t: breaking(failures[t]),
        reward=constant(Reward(next_state=next_state)),
        grid=(n, n),
        declared_successors=breaking(failures[0]).successors,
    )


def failure_rates(
    horizon: int, failure: float, worst_failure: float, melt_begin: int, melt_steps: int
) -> Array:
    """(T,) probability that a step onto the ice breaks it."""
    molten = np.clip((np.arange(horizon) - melt_begin) / melt_steps, 0, 1)
    return failure + (worst_failure - failure) * molten


def _climbing_out(kernel: GeneralKernel, water: Indices, *, bank: Indices) -> GeneralKernel:
    """The kernel in which every action in the water leads to the bank."""
    successors, probabilities = kernel.successors.copy(), kernel.probabilities.copy()
    successors[water] = bank[:, None]
    probabilities[water] = 0.0
    probabilities[water, :, 0] = 1.0
    return GeneralKernel(successors, probabilities)


def _breaking(kernel: GeneralKernel, falls_to: Indices, failure: float) -> GeneralKernel:
    """The kernel in which a share `failure` of what would reach an icy cell falls from there."""
    fallen_to = falls_to[kernel.successors]
    share = np.where(fallen_to != kernel.successors, failure, 0.0)[:, None, :]
    fallen = kernel.probabilities * share
    return GeneralKernel(
        np.concatenate([kernel.successors, fallen_to], axis=1),
        np.concatenate([kernel.probabilities - fallen, fallen], axis=2),
    )


def _check(n, failure, worst_failure, melt_steps, swept, ice_width, river, bridge) -> None:
    for name, rate in (("failure", failure), ("worst_failure", worst_failure)):
        if not 0 <= rate <= 1:
            raise InputError(f"{name} must lie between 0 and 1, not {rate:g}")
    if not 1 <= ice_width < bridge < n:
        raise InputError(
            f"1 <= ice_width < bridge < n must hold, not ice_width {ice_width}, bridge {bridge}, n {n}"
        )
    if not 1 <= river <= n - 2:
        raise InputError(f"river must lie between rows 1 and {n - 2}, not {river}")
    for name, count in (("melt_steps", melt_steps), ("swept", swept)):
        if count < 1:
            raise InputError(f"{name} must be at least 1, not {count}")
