"""The two ways to bound regret over all possible kernels, by backward induction over the legs of a mission.

As a difference: the best that the oracle could do minus the worst that the robot could suffer, each with its
own worst kernels. As one problem: regret is the sum of what the robot's actions give away,
V*_t(s) - V_t(s) = [V*_t(s) - Q*_t(s, a_t)] + E[V*_{t+1} - V_{t+1}], with one kernel for oracle and robot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from replan.certify.course import Leg
from replan.certify.uncertainty import Uncertainty, action_reward, losses
from replan.model.kernel import Array, Indices
from replan.model.reward import Reward

Node = tuple[int, int]  # time of an update, updates left after it
Tables = dict[Node, list[Array]]  # per step of the leg (C, X, S)


def optimistic_values(
    uncertain: Uncertainty, reward: Callable[[int], Reward], horizon: int, states: int
) -> list[Array]:
    """For t = 0..T, (C, S) the best that the oracle could do from t on."""
    values = [np.zeros((1, states))]
    for t in range(horizon - 1, -1, -1):
        step = reward(t)
        here = []
        for cell in range(uncertain.cells(t)):
            ahead = values[-1][uncertain.following(t, cell)].max(axis=0) if t + 1 < horizon else values[-1][0]
            gained = uncertain.best(t, cell, ahead if step.next_state is None else ahead + step.next_state)
            here.append((gained if step.state_action is None else gained + step.state_action).max(axis=1))
        values.append(np.stack(here))
    return values[::-1]


def pessimistic_returns(
    uncertain: Uncertainty,
    reward: Callable[[int], Reward],
    course: Sequence[Leg],
    successors: Indices,
    horizon: int,
) -> tuple[dict[Node, Array], Tables]:
    """Minus the least return from each update on (C, S), and from each step of each leg on."""

    def cost(t: int, cell: int) -> Array:
        return uncertain.plain(-action_reward(uncertain, reward(t), len(successors)))

    def arrival(t: int) -> Array | None:
        part = reward(t).next_state
        return None if part is None else -part

    return worst_case(uncertain, course, successors, horizon, cost=cost, arrival=arrival)


def joint_regret(
    uncertain: Uncertainty,
    reward: Callable[[int], Reward],
    course: Sequence[Leg],
    successors: Indices,
    horizon: int,
    *,
    best: list[Array],
    returns: Tables,
) -> dict[Node, Array]:
    """(C, S) bound on the regret from each update on, as one problem, never above the difference of two."""
    given_away = losses(uncertain, reward, horizon, len(successors))

    def limit(leg: Leg, k: int) -> Array:
        return best[leg.time + k][:, None, :] + returns[leg.time, leg.left][k]

    return worst_case(
        uncertain, course, successors, horizon, cost=lambda t, cell: given_away[t][cell], limit=limit
    )[0]


def worst_case(
    uncertain: Uncertainty,
    course: Sequence[Leg],
    successors: Indices,
    horizon: int,
    *,
    cost: Callable[[int, int], Array],
    arrival: Callable[[int], Array | None] = lambda t: None,
    limit: Callable[[Leg, int], Array] | None = None,
) -> tuple[dict[Node, Array], Tables]:
    """The greatest total of cost(t, s, a) + arrival(t, s') along the course over all possible kernels."""
    at_update: dict[Node, Array] = {}
    tables: Tables = {}
    states = len(successors)
    for leg in course:
        table: list[Array] = []
        reached = leg.reached(successors)
        for k in range(len(leg) - 1, -1, -1):
            t = leg.time + k
            ahead = _ahead(leg, k, at_update, table, horizon, states)
            extra = arrival(t)
            if extra is not None:
                ahead = ahead + extra
            here = []
            for cell in range(uncertain.cells(t)):
                window = uncertain.following(t, cell) if t + 1 < horizon else slice(0, 1)
                target = np.ascontiguousarray(ahead[window].max(axis=0))
                here.append(uncertain.step(t, cell, cost(t, cell), leg.actions[k], target, reached[k]))
            table.append(np.stack(here))
            if limit is not None:
                np.minimum(table[-1], limit(leg, k), out=table[-1])
        tables[leg.time, leg.left] = table[::-1]
        at_update[leg.time, leg.left] = np.diagonal(table[-1], axis1=1, axis2=2).copy()
    return at_update, tables


def _ahead(
    leg: Leg, k: int, at_update: dict[Node, Array], table: list[Array], horizon: int, states: int
) -> Array:
    """(C, X, S) what follows step k: the next update where it comes, else the leg's next step."""
    t, stop = leg.time + k + 1, leg.stops[k][None, :, None]
    if t == horizon:
        return np.zeros((1, states, states))
    total = (1 - stop) * table[-1] if table else 0.0
    if stop.any() and (t, leg.left - 1) in at_update:
        total = total + stop * at_update[t, leg.left - 1][:, None, :]
    return np.asarray(total)
