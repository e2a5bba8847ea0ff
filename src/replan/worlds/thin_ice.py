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
from replan.model.family import Family
from replan.model.general_kernel import GeneralKernel
from replan.model.grid_map import DISTANCE_SCALE
from replan.model.kernel import Array, Indices, constant
from replan.model.reward import Reward
from replan.model.slip import STAY, SlipKernel
from replan.model.world import World
from replan.worlds.parameters import (
    Cost,
    Fraction,
    Horizon,
    Parameters,
    Side,
    Whole,
    WorldParameters,
    register_world,
)
from replan.worlds.slip_grid import distances


class Ice(Parameters):
    """The river, its ice and its bridge; the defaults are those of the setting `thin-ice-hard`."""

    slip: Fraction = 0.04
    """Slip of every cell, at all times."""
    failure: Fraction = 0.02
    """Probability that a step onto the ice breaks it, up to the time `melt_begin`."""
    worst_failure: Fraction = 0.8
    """The same probability once the ice has melted."""
    melt_begin: int = 0
    """Time from which the failure rate climbs."""
    melt_steps: Whole = 9
    """Number of equal steps in which it climbs."""
    fall_cost: Cost = 3.0
    """Cost of being in the water."""
    swept: Whole = 3
    """Columns that a fall leads along the river."""
    ice_width: Whole = 3
    """Columns of ice, from the first column on."""
    river: Whole = 9
    """Row of the river."""
    bridge: int = 5
    """First column of the bridge, which reaches to the edge."""


@register_world("thin-ice")
class ThinIce(WorldParameters):
    """A short way over ice that melts, and a long way over a bridge."""

    n: Side = 12
    """Rows and columns."""
    horizon: Horizon = 40
    """Steps, T."""
    ice: Ice = Ice()
    """The river, its ice and its bridge."""

    def build(self) -> World:
        """Return the world."""
        n, ice = self.n, self.ice
        _check_layout(n, ice)
        icy = ice.river * n + np.arange(ice.ice_width)
        water = ice.river * n + np.arange(ice.ice_width, ice.bridge)
        falls_to = np.arange(n * n)
        falls_to[icy] = np.clip(icy + ice.swept, water[0], water[-1])
        solid = SlipKernel((n, n), ice.slip, blocked=np.isin(np.arange(n * n), water)).general()
        solid = _climbing_out(solid, water, bank=water - n)
        failures = failure_rates(ice, self.horizon)
        breaking = cache(lambda rate: _breaking(solid, falls_to, rate))
        family = Family.of_mixtures(
            "the kernel is one failure rate of all ice; all else is known and stays",
            breaking(0.0),
            breaking(1.0),
            name="failure rate",
        )
        next_state = -distances(n, (n - 1, 0)) / DISTANCE_SCALE
        next_state[water] -= ice.fall_cost
        return World(
            horizon=self.horizon,
            kernel=lambda t: breaking(failures[t]),
            reward=constant(Reward(next_state=next_state)),
            grid=(n, n),
            declared_successors=breaking(failures[0]).successors,
            family=family,
            waiting=STAY,
        )


def failure_rates(ice: Ice, horizon: int) -> Array:
    """Return the probability that a step onto the ice breaks it, (T,)."""
    molten = np.clip((np.arange(horizon) - ice.melt_begin) / ice.melt_steps, 0, 1)
    return ice.failure + (ice.worst_failure - ice.failure) * molten


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


def _check_layout(n: int, ice: Ice) -> None:
    if not ice.ice_width < ice.bridge < n:
        raise InputError(
            f"ice_width < bridge < n must hold, not ice_width {ice.ice_width}, bridge {ice.bridge}, n {n}"
        )
    if ice.river > n - 2:
        raise InputError(f"river must lie between rows 1 and {n - 2}, not {ice.river}")
