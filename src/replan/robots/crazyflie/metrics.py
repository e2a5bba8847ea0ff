"""Success, collisions and cost of a flight (the paper's "Hardware Experiment Details").

A collision event is an entry into a pole's safety radius. Touching a pole ends the flight: it counts as one
event, as a failure, and nothing after it is counted. So does reaching the goal, otherwise the horizon.

    C = (L_exec + kappa N_coll) / L_ref,   kappa = 11 m

L_exec is the length of the way through the positions at the ends of moves; what control and gusts add within
a move is left out. kappa is the slope of cost against collisions in the paper's own table (1.70 per
event over its 27 entries) times the reference length of an open layout, 6.6 m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan.robots.crazyflie.flight import FlightLog
from replan.robots.crazyflie.layouts import CONTACT_DISTANCE, GOAL, SAFETY_RADIUS, Layout, cells_at, state_of
from replan.robots.crazyflie.world import COLLISION_LENGTH


@dataclass(frozen=True)
class Outcome:
    """Measurements of a finished flight."""

    success: bool
    """Whether a move within the horizon ended in the goal cell, and no pole was touched."""
    collisions: int
    """Collision events, N_coll."""
    length: float
    """Length flown in metres, L_exec."""
    cost: float
    """Cost, C."""
    touched: bool
    """Whether a pole was touched."""
    moves: int
    """Moves until the goal, the touch or the horizon."""


def outcome(layout: Layout, log: FlightLog, drone: int = 0) -> Outcome:
    """Measure one drone's flight on the samples of its log."""
    if not np.isfinite(log.positions).all():
        return Outcome(False, 0, 0.0, float("nan"), False, 0)
    begin = int(np.flatnonzero(log.moves < 0)[-1])
    path = log.positions[begin:, drone, :2]  # (M, 2) from the last sample on the start cell
    moves = log.moves[begin:]
    distance = layout.pole_distance(path)
    touches = np.flatnonzero(distance < CONTACT_DISTANCE)
    move_ends = np.append(np.flatnonzero(np.diff(moves)), len(moves) - 1)
    at_goal = move_ends[cells_at(path[move_ends]) == state_of(GOAL)]
    last = len(path) - 1
    touch = int(touches[0]) if len(touches) else last + 1
    goal = int(at_goal[0]) if len(at_goal) else last + 1
    end = min(touch, goal, last)
    inside = distance[: end + 1] < SAFETY_RADIUS
    collisions = int(inside[0]) + int((inside[1:] & ~inside[:-1]).sum())
    corners = path[[0, *move_ends[move_ends < end], end]]
    length = float(np.linalg.norm(np.diff(corners, axis=0), axis=1).sum())
    cost = (length + COLLISION_LENGTH * collisions) / layout.reference_length
    return Outcome(goal < touch and goal <= last, collisions, length, cost, touch <= end, int(moves[end]) + 1)
