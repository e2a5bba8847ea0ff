"""The two ways to bound regret over all possible kernels, by backward induction over the legs of a mission.

As a difference: the best that the oracle could do minus the worst that the robot could suffer, each with its
own worst kernels. As one problem: regret is the sum of what the robot's actions give away,
V*_t(s) - V_t(s) = [V*_t(s) - Q*_t(s, a_t)] + E[V*_{t+1} - V_{t+1}], with one kernel for oracle and robot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from replan.certificates.mission_legs import Leg
from replan.certificates.uncertainty import Uncertainty, action_reward, losses
from replan.model.kernel import Array, Indices
from replan.model.reward import Reward

Tables = dict[int, list[Array]]  # by the time of the update, per step of its leg (C, X, S)


def optimistic_values(
    uncertain: Uncertainty, reward: Callable[[int], Reward], horizon: int, states: int
) -> list[Array]:
    """For t = 0..T, (C, S) the best that the oracle could do from t on."""
    return [*optimistic_values_backwards(uncertain, reward, horizon, states)][::-1]


def optimistic_values_backwards(
    uncertain: Uncertainty, reward: Callable[[int], Reward], horizon: int, states: int
) -> Iterator[Array]:
    """The items of `optimistic_values`, the last one first."""
    values = np.zeros((1, states))
    yield values
    for t in range(horizon - 1, -1, -1):
        step = reward(t)
        here = []
        for cell in range(uncertain.cells(t)):
            ahead = values[uncertain.following(t, cell)].max(axis=0) if t + 1 < horizon else values[0]
            gained = uncertain.best(t, cell, ahead if step.next_state is None else ahead + step.next_state)
            here.append((gained if step.state_action is None else gained + step.state_action).max(axis=1))
        values = np.stack(here)
        yield values


def step_costs(
    uncertain: Uncertainty, reward: Callable[[int], Reward], states: int
) -> tuple[Callable[[int], Array], Callable[[int], Array | None]]:
    """Minus what a step at t pays: (V, S, A) for the action, (S,) or nothing for the next state."""

    def cost(t: int) -> Array:
        return uncertain.plain(-action_reward(uncertain, reward(t), states))

    def arrival(t: int) -> Array | None:
        part = reward(t).next_state
        return None if part is None else -part

    return cost, arrival


def pessimistic_returns(
    uncertain: Uncertainty,
    reward: Callable[[int], Reward],
    legs: Sequence[Leg],
    successors: Indices,
    horizon: int,
) -> tuple[Array, Tables]:
    """Minus the least return from t = 0 on (C, S), and from each step of each leg on."""
    cost, arrival = step_costs(uncertain, reward, len(successors))
    return worst_case(uncertain, legs, successors, horizon, cost=lambda t, cell: cost(t), arrival=arrival)


def joint_regret(
    uncertain: Uncertainty,
    reward: Callable[[int], Reward],
    legs: Sequence[Leg],
    successors: Indices,
    horizon: int,
    *,
    best: list[Array],
    returns: Tables,
) -> Array:
    """(C, S) bound on the regret from t = 0 on, as one problem, never above the difference of two."""
    given_away = losses(uncertain, reward, horizon, len(successors))

    def limit(leg: Leg, k: int) -> Array:
        return best[leg.time + k][:, None, :] + returns[leg.time][k]

    return worst_case(
        uncertain, legs, successors, horizon, cost=lambda t, cell: given_away[t][cell], limit=limit
    )[0]


def worst_case(
    uncertain: Uncertainty,
    legs: Sequence[Leg],
    successors: Indices,
    horizon: int,
    *,
    cost: Callable[[int, int], Array],
    arrival: Callable[[int], Array | None] = lambda t: None,
    limit: Callable[[Leg, int], Array] | None = None,
) -> tuple[Array, Tables]:
    """The greatest total of cost(t, s, a) + arrival(t, s') along the legs over all possible kernels."""
    tables: Tables = {}
    states = len(successors)
    after = np.zeros((1, states))  # (C, S) from the end of the leg on
    for leg in legs:
        table: list[Array] = []
        reached = leg.reached(successors)
        ahead = np.broadcast_to(after[:, None, :], (len(after), states, states))
        for k in range(len(leg) - 1, -1, -1):
            t = leg.time + k
            extra = arrival(t)
            if extra is not None:
                ahead = ahead + extra
            here = []
            for cell in range(uncertain.cells(t)):
                window = uncertain.following(t, cell) if t + 1 < horizon else slice(0, 1)
                target = np.ascontiguousarray(ahead[window].max(axis=0))
                here.append(uncertain.step(t, cell, cost(t, cell), leg.actions[k], target, reached[k]))
            ahead = np.stack(here)
            if limit is not None:
                np.minimum(ahead, limit(leg, k), out=ahead)
            table.append(ahead)
        tables[leg.time] = table[::-1]
        after = np.diagonal(ahead, axis1=1, axis2=2)
    return after.copy(), tables
