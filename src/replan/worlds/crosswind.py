"""Crosswind: a chain of lakes, a path along either shore, and a wind that turns.

    . . . . . . . . .     S start; the goal is the whole last column
    . ~ ~ ~ . ~ ~ ~ .     ~ lake: entered only by a gust, left for the nearer shore in the next step
    S ~ ~ ~ . ~ ~ ~ .     . path: along both shores, and across between the lakes
    . ~ ~ ~ . ~ ~ ~ .
    . . . . . . . . .

A gust moves the robot one cell, most often with the wind; the edge of the map stops it. The wind first
blows up the map, so the upper path is safe and the lower one has the lake on its lee side. Then it turns,
by way of a tail wind, to blow down the map, and the two paths change places. The reward knows nothing of
the wind: a robot that plans with an old kernel believes in the old wind and keeps to its path, although it
could cross between the lakes.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated

import numpy as np
from pydantic import Field

from replan.model.family import Family
from replan.model.general_kernel import GeneralKernel
from replan.model.grid_map import DISTANCE_SCALE
from replan.model.kernel import Array, constant
from replan.model.reward import Reward
from replan.model.sizes import require_memory
from replan.model.slip import STAY, SlipKernel
from replan.model.world import World
from replan.worlds.parameters import (
    Cost,
    Fraction,
    Horizon,
    Parameters,
    Whole,
    WorldParameters,
    register_world,
)

Cells = Annotated[int, Field(ge=1, le=10_000)]
NUMBERS_OF_A_CELL = 200
"""Of two kernels: ten successors of five actions."""
UP = 90.0  # degrees, counter-clockwise from a wind that blows to the right


class LakesAndWind(Parameters):
    """The lakes and the wind; the defaults are those of the setting `crosswind-hard`."""

    lakes: Cells = 2
    """Lakes, in a row."""
    lake_length: Cells = 5
    """Columns of a lake."""
    lake_height: Cells = 3
    """Rows of a lake."""
    gusts: Fraction = 0.2
    """Probability that a gust takes the place of the commanded move."""
    lean: Fraction = 0.9
    """Probability that a gust goes with the wind; otherwise it goes in any of the five directions."""
    turn_begin: int = 2
    """Time from which the wind turns."""
    turn_steps: Whole = 4
    """Number of equal steps in which it turns."""
    turn: float = 180.0
    """Degrees by which it turns, clockwise."""
    hazard_cost: Cost = 3.0
    """Cost of a step that ends in a lake."""


@register_world("crosswind")
class Crosswind(WorldParameters):
    """Paths along both shores of a chain of lakes, and a wind that turns."""

    horizon: Horizon = 40
    """Steps, T."""
    wind: LakesAndWind = LakesAndWind()
    """The lakes and the wind."""

    def build(self) -> World:
        """Return a grid of lake_height + 2 rows and lakes * (lake_length + 1) + 1 columns.

        Every step costs the columns still to go, over 20.
        """
        wind = self.wind
        rows, columns = wind.lake_height + 2, wind.lakes * (wind.lake_length + 1) + 1
        require_memory(NUMBERS_OF_A_CELL * rows * columns, f"a world of {rows} x {columns} cells")
        i, j = np.divmod(np.arange(rows * columns), columns)
        lake = (i > 0) & (i < rows - 1) & (j % (wind.lake_length + 1) > 0)
        turned = np.clip((np.arange(self.horizon) - wind.turn_begin) / wind.turn_steps, 0, 1)
        angles = UP - wind.turn * turned
        windy = cache(lambda angle: _kernel((rows, columns), lake, wind.gusts, gust_law(angle, wind.lean)))
        next_state = -(columns - 1 - j) / DISTANCE_SCALE - wind.hazard_cost * lake
        return World(
            horizon=self.horizon,
            kernel=lambda t: windy(angles[t]),
            reward=constant(Reward(next_state=next_state)),
            start=rows // 2 * columns,
            grid=(rows, columns),
            declared_successors=windy(UP).successors,
            family=Family(
                "the kernel is the wind's angle; all else is known and stays",
                {"angle": np.linspace(UP - 180, UP + 180, 73)},
                windy,
            ),
            waiting=STAY,
        )


def gust_law(angle: float, lean: float) -> Array:
    """Return (A,) probabilities of the direction of a gust at a wind angle: right, left, down, up, stay.

    The squared cosine and sine share the leaning part between the two axes, so that it turns smoothly.
    """
    along, up = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    with_wind = np.array([max(along, 0.0), max(-along, 0.0), max(-up, 0.0), max(up, 0.0), 0.0]) ** 2
    return lean * with_wind + (1 - lean) / len(with_wind)


def _kernel(shape: tuple[int, int], lake: np.ndarray, gusts: float, law: Array) -> GeneralKernel:
    """Commanded moves stop at the lake, gusts do not."""
    commanded = SlipKernel(shape, 0.0, blocked=lake).destinations()
    blown = SlipKernel(shape, 1.0).destinations()
    states, actions = commanded.shape
    row, column = np.divmod(np.arange(states), shape[1])
    nearer_shore = np.where(2 * row < shape[0], 0, shape[0] - 1) * shape[1] + column
    commanded[lake] = blown[lake] = nearer_shore[lake, None]
    move = np.concatenate([(1 - gusts) * np.eye(actions), np.tile(gusts * law, (actions, 1))], axis=1)
    return GeneralKernel(np.concatenate([commanded, blown], axis=1), np.tile(move, (states, 1, 1)))
