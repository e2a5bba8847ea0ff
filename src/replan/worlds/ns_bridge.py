"""The non-stationary bridge of RATS (Lecarpentier and Rachelson, NeurIPS 2019).

    H H H H H H H H     S start, G goal: pays 1 and ends the mission
    F F F F F H H H     H hole: pays -1 and ends the mission
    G F F F S F F G
    F F F F F H H H
    H H H H H H H H

At t = 0 a move leads where it is meant to. It drifts to a law that keeps the meant cell with probability p
and splits the rest between the cells above and below the robot's own; p depends on the column and on
`epsilon`. It drifts in a straight line, by a Wasserstein distance of 1 in a step, and then stays. Rewards are
discounted.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Array, Indices
from replan.model.reward import Reward
from replan.model.world import World
from replan.worlds.parameters import Fraction, Horizon, WorldParameters, register_world

MAP = np.array([list(row) for row in ("HHHHHHHH", "FFFFFHHH", "GFFFSFFG", "FFFFFHHH", "HHHHHHHH")])
PAYS = np.select([MAP == "G", MAP == "H"], [1.0, -1.0]).reshape(-1)
"""(S,) reward for entering each cell; cells that pay end the mission."""
START = int(np.flatnonzero(MAP == "S")[0])
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))
"""Rows and columns that left, down, right and up lead on."""
DOWN, UP = 1, 3
MIDDLE = 4
"""First column of the right half."""


@register_world("nsbridge")
class NSBridge(WorldParameters):
    """A bridge with a goal at both ends, one half of which becomes slippery."""

    epsilon: Fraction = 0.0
    """The half that becomes slippery: 0 is the left half, 1 the right half."""
    horizon: Horizon = 9
    """Steps, T."""
    discount: Fraction = 0.9
    """Factor by which rewards shrink in each step."""

    def build(self) -> World:
        """Return the world."""
        column = np.arange(PAYS.size) % MAP.shape[1]
        slippery = np.where(column < MIDDLE, 1 - self.epsilon, self.epsilon)
        first, last, distance = _laws(0.9 - 0.8 * slippery)
        settled = int(np.ceil(distance.max()))

        @cache
        def kernel(time: int) -> GeneralKernel:
            share = np.minimum(time / distance, 1)[:, :, None]
            return GeneralKernel.from_dense(first + share * (last - first))

        @cache
        def reward(time: int) -> Reward:
            pays = self.discount**time * PAYS
            return Reward(state_action=np.repeat(-pays[:, None], len(MOVES), axis=1), next_state=pays)

        return World(
            horizon=self.horizon,
            kernel=lambda t: kernel(min(t, settled)),
            reward=reward,
            start=START,
            grid=(MAP.shape[0], MAP.shape[1]),
            declared_successors=np.where(PAYS[:, None] != 0, np.arange(PAYS.size)[:, None], _neighbours()),
        )


def _laws(meant_probability: Array) -> tuple[Array, Array, Array]:
    """Return the first and the last law, (S, A, S) each, and (S, A) their Wasserstein distance.

    The distance is the length of the ways from the meant cell to the cells above and below.
    """
    meant, cells = _neighbours(), np.eye(PAYS.size)
    slipped = (1 - meant_probability[:, None]) / 2
    above, below = meant[:, [UP]], meant[:, [DOWN]]
    first = cells[meant]
    last = meant_probability[:, None, None] * first + slipped[:, :, None] * (cells[above] + cells[below])
    over = PAYS != 0
    first[over] = last[over] = cells[over][:, None, :]
    return first, last, slipped * (_manhattan(meant, above) + _manhattan(meant, below))


def _neighbours() -> Indices:
    """(S, A) cells to which moves are meant to lead; a move over the edge leads nowhere."""
    rows, columns = MAP.shape
    row, column = np.divmod(np.arange(PAYS.size)[:, None], columns)
    down, right = np.array(MOVES).T
    return np.clip(row + down, 0, rows - 1) * columns + np.clip(column + right, 0, columns - 1)


def _manhattan(one: Indices, other: Indices) -> Indices:
    columns = MAP.shape[1]
    return np.abs(one // columns - other // columns) + np.abs(one % columns - other % columns)
