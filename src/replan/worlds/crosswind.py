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

import numpy as np

from replan.errors import InputError
from replan.model import TVMDP, GeneralKernel, Reward, SlipKernel, constant
from replan.model.kernel import Array
from replan.worlds.rover import DISTANCE_SCALE

UP = 90.0  # degrees, counter-clockwise from a wind that blows to the right


def build(
    *,
    horizon: int = 40,
    lakes: int = 2,
    lake_length: int = 5,
    lake_height: int = 3,
    gusts: float = 0.2,
    lean: float = 0.9,
    turn_begin: int = 2,
    turn_steps: int = 4,
    turn: float = 180.0,
    hazard_cost: float = 3.0,
) -> TVMDP:
    """A grid of lake_height + 2 rows and lakes * (lake_length + 1) + 1 columns; by default `crosswind-hard`.

    `gusts` is the probability that a gust takes the place of the commanded move; it goes with the wind with
    probability `lean`, else in any of the five directions. From the time `turn_begin` on the wind turns by
    `turn` degrees clockwise, in `turn_steps` equal steps. A step that ends in a lake costs `hazard_cost`;
    every step costs the columns still to go, over 20.
    """
    _check(lakes, lake_length, lake_height, gusts, lean, turn_steps)
    rows, columns = lake_height + 2, lakes * (lake_length + 1) + 1
    i, j = np.divmod(np.arange(rows * columns), columns)
    lake = (i > 0) & (i < rows - 1) & (j % (lake_length + 1) > 0)
    angles = UP - turn * np.clip((np.arange(horizon) - turn_begin) / turn_steps, 0, 1)
    windy = cache(lambda angle: _kernel((rows, columns), lake, gusts, gust_law(angle, lean)))
    next_state = -(columns - 1 - j) / DISTANCE_SCALE - hazard_cost * lake
    return TVMDP(
        horizon=horizon,
        kernel=lambda t: windy(angles[t]),
        reward=constant(Reward(next_state=next_state)),
        start=rows // 2 * columns,
        grid=(rows, columns),
        declared_successors=windy(UP).successors,
    )


def gust_law(angle: float, lean: float) -> Array:
    """(A,) where a gust goes when the wind blows at `angle`: right, left, down, up, stay.

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


def _check(lakes, lake_length, lake_height, gusts, lean, turn_steps) -> None:
    counts = {
        "lakes": lakes,
        "lake_length": lake_length,
        "lake_height": lake_height,
        "turn_steps": turn_steps,
    }
    for name, count in counts.items():
        if count < 1:
            raise InputError(f"{name} must be at least 1, not {count}")
    for name, probability in (("gusts", gusts), ("lean", lean)):
        if not 0 <= probability <= 1:
            raise InputError(f"{name} must lie between 0 and 1, not {probability:g}")
