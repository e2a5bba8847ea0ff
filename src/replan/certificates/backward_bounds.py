"""The two ways to bound regret over all possible kernels, by backward induction over the legs of a mission.

As a difference: the best that the oracle could do minus the worst that the robot could suffer, each with its
own worst kernels. As one problem: regret is the sum of what the robot's actions give away,
V*_t(s) - V_t(s) = [V*_t(s) - Q*_t(s, a_t)] + E[V*_{t+1} - V_{t+1}], with one kernel for oracle and robot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from replan.certificates.mission_legs import Leg, in_blocks
from replan.certificates.uncertainty import Uncertainty, action_reward, losses
from replan.model.kernel import Array
from replan.model.reward import Reward


def optimistic_values(uncertain: Uncertainty, reward: Callable[[int], Reward]) -> list[Array]:
    """For t = 0..T, (C, S) the best that the oracle could do from t on."""
    return [*optimistic_values_backwards(uncertain, reward)][::-1]


def optimistic_values_backwards(uncertain: Uncertainty, reward: Callable[[int], Reward]) -> Iterator[Array]:
    """The items of `optimistic_values`, the last one first."""
    horizon, values = uncertain.horizon, np.zeros((1, uncertain.counts[-1]))
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
    uncertain: Uncertainty, reward: Callable[[int], Reward]
) -> tuple[Callable[[int], Array], Callable[[int], Array | None]]:
    """Minus what a step at t pays: (V, S, A) for the action, (S,) or nothing for the next state."""

    def cost(t: int) -> Array:
        return uncertain.plain(-action_reward(uncertain, reward(t), t))

    def arrival(t: int) -> Array | None:
        part = reward(t).next_state
        return None if part is None else -part

    return cost, arrival


class LegBounds:
    """Bounds over the legs of a mission; robots that saw different states are bounded apart, in blocks."""

    def __init__(
        self, uncertain: Uncertainty, reward: Callable[[int], Reward], *, one_kernel: bool = True
    ) -> None:
        self.uncertain = uncertain
        self.best = optimistic_values(uncertain, reward)  # for t = 0..T, (C, S)
        self.lost = losses(uncertain, reward) if one_kernel else None
        self.cost, self.arrival = step_costs(uncertain, reward)

    def from_start(self, legs: Sequence[Leg]) -> tuple[Array, Array]:
        """(C, S) minus the least return from t = 0 on, and a bound on the regret; legs are latest first."""
        unpaid = regret = np.zeros((1, self.uncertain.counts[-1]))
        for leg in legs:
            blocks = [self._along(leg, seen, unpaid, regret) for seen in in_blocks(leg.actions.shape[1])]
            unpaid, regret = (np.concatenate(parts, axis=1) for parts in zip(*blocks, strict=True))
        return unpaid, regret

    def _along(self, leg: Leg, seen: Array, unpaid: Array, regret: Array) -> tuple[Array, Array]:
        """(C, X) both bounds from the update on for robots that saw X states, from (C, S) those after."""
        each = np.arange(len(seen))
        unpaid, regret = (np.repeat(after[:, None, :], len(seen), axis=1) for after in (unpaid, regret))
        where = leg.reached(self.uncertain, seen)
        for k in range(len(leg) - 1, -1, -1):
            t, taken = leg.time + k, leg.actions[k, seen]
            cost, arrival, lost = self.cost(t), self.arrival(t), self.lost
            unpaid = unpaid if arrival is None else unpaid + arrival
            unpaid = self._step(t, lambda cell, cost=cost: cost, taken, unpaid, where[k])
            difference = self.best[t][:, None, :] + unpaid
            if lost is None:
                regret = difference
            else:
                regret = self._step(t, lost[t].__getitem__, taken, regret, where[k])
                np.minimum(regret, difference, out=regret)
        return unpaid[:, each, seen], regret[:, each, seen]

    def _step(
        self, t: int, cost: Callable[[int], Array], actions: Array, ahead: Array, where: Array
    ) -> Array:
        """(C, X, S) the greatest cost of a step plus the expectation of what is ahead, (C', X, S')."""
        uncertain, here = self.uncertain, np.empty((self.uncertain.cells(t), *where.shape))
        for cell in range(len(here)):
            follow = ahead[uncertain.following(t, cell)] if t + 1 < uncertain.horizon else ahead
            target = follow[0] if len(follow) == 1 else follow.max(axis=0)
            here[cell] = uncertain.step(t, cell, cost(cell), actions, target, where)
        return here
