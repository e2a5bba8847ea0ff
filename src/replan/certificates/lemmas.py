"""The lemmas behind the theorem, one function each, in the form that their proofs support.

Differences from the printed appendix: rewards of the next state count as part of what follows, R_t +
V*_{t+1}; a span over actions of two kernels' expectations is at most *twice* total variation times span (one
action may gain what another loses); mismatches in a skip interval are time-shifted, between P_{tau+j} and
P_{t+j}; and with N = T - t - 1 steps left the exponents are floor(N / m). Paper's symbols: tau, t, m, alpha.

`printed_bound` is the theorem's bound as printed. It is false, and kept so that it can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from replan.execute.mission import Mission
from replan.model.kernel import Indices, Kernel
from replan.planning.optimal_values import Oracle


def error_propagation(errors: Sequence[float], at_end: float, *, alpha: float, m: int) -> float:
    """Span of the difference of two worlds' values, N = len(errors) steps before it is `at_end`.

    Each step adds twice its error, and each whole block of m steps contracts by alpha (the multi-stage
    lemma).
    """
    blocks = len(errors) // m
    total = alpha**blocks * (2 * sum(errors[blocks * m :]) + at_end)
    for block in range(blocks):
        total += 2 * alpha**block * sum(errors[block * m : (block + 1) * m])
    return total


class Lemmas:
    """The lemmas for one mission. `scale` bounds the span of R_t + V*_{t+1}, V*_t and the plans' values."""

    def __init__(self, mission: Mission, scale: float) -> None:
        self.mission, self.scale = mission, scale
        self._ordered_change = cache(self._find_change)
        self.estimate_variations = cache(self._estimate_variations)
        self.shifted_mismatch = cache(self._shifted_mismatch)
        self.state_mismatch = cache(self._state_mismatch)

    def kernel_change(self, i: int, j: int) -> float:
        """Max over (s, a) of the total variation between P_i and P_j."""
        return self._ordered_change(min(i, j), max(i, j))

    def _find_change(self, i: int, j: int) -> float:
        world = self.mission.world
        return 0.0 if i == j else float(world.kernel(i).total_variation(world.kernel(j)).max())

    def plan_length(self, tau: int) -> int:
        """H_tau."""
        return min(self.mission.robot.planning_horizon, self.mission.horizon - tau)

    def _estimate_variations(self, tau: int) -> list[float]:
        """epsilon-hat_{tau, i}, i = 0..H-1: the total variation of the plan's kernel from P_{tau+i}."""
        estimate: Kernel = self.mission.update(tau).kernel
        kernel = self.mission.world.kernel
        return [float(kernel(tau + i).total_variation(estimate).max()) for i in range(self.plan_length(tau))]

    def update_time(self, tau: int, *, alpha: float, m: int) -> float:
        """R_tau: the most that the plan's action gives away in any state at the time it is made."""
        errors = [variation * self.scale for variation in self.estimate_variations(tau)]
        at_end = self.scale if tau + len(errors) < self.mission.horizon else 0.0
        return 2 * errors[0] + error_propagation(errors[1:], at_end, alpha=alpha, m=m)

    def _shifted_mismatch(self, tau: int, t: int, j: int) -> float:
        """e_j: between step tau + j and step t + j, kernels and rewards."""
        reward = self.mission.world.reward
        return self.kernel_change(tau + j, t + j) * self.scale + reward(tau + j).change(reward(t + j))

    def immediate_drift(self, tau: int, t: int) -> float:
        """Bound on the immediate shift of one action against another by the change from step tau to t."""
        return 2 * self.shifted_mismatch(tau, t, 0)

    def residual_horizon(self, t: int, *, alpha: float, m: int) -> float:
        """Bound on the remaining effect of the difference in steps left."""
        return alpha ** ((self.mission.horizon - t - 1) // m) * self.scale

    def accumulated_drift(self, tau: int, t: int, *, alpha: float, m: int) -> float:
        """Bound on the shift by the change of all later steps."""
        errors = [self.shifted_mismatch(tau, t, j) for j in range(1, self.mission.horizon - t)]
        return error_propagation(errors, 0.0, alpha=alpha, m=m)

    def _state_mismatch(self, t: int) -> float:
        """The most that taking another state's action can give away."""
        world = self.mission.world
        reward, kernel = world.reward(t), world.kernel(t).general()
        gap = 0.0 if reward.state_action is None else float(np.ptp(reward.state_action, axis=1).max())
        rows = kernel.probabilities
        apart = 0.5 * np.abs(rows[:, :, None, :] - rows[:, None, :, :]).sum(axis=3).max()
        return gap + float(apart) * self.scale


def optimal_policies(best: Oracle) -> Indices:
    """(T, S) an optimal action of every time and state."""
    return np.stack([best.q_values(t).argmax(axis=1) for t in range(best.world.horizon)])


def plan_policies(mission: Mission, tau: int) -> Indices:
    """(H, S) the actions of the whole plan made at tau, of which only the first step is executed."""
    kernel, reward = mission.update(tau).kernel, mission.world.reward
    length = min(mission.robot.planning_horizon, mission.horizon - tau)
    values = np.zeros(kernel.states)
    policies = np.empty((length, kernel.states), dtype=np.int64)
    for h in range(length - 1, -1, -1):
        q_values = reward(tau + h).q_values(kernel, values)
        policies[h], values = q_values.argmax(axis=1), q_values.max(axis=1)
    return policies


def printed_bound(
    lemmas: Lemmas, times: Sequence[int], *, diameter: float, alpha: float, m: int
) -> dict[str, float]:
    """Its terms: none for state mismatch or t = 0, mismatches against P_tau, D without the reward's range."""
    horizon = lemmas.mission.horizon
    D = diameter
    terms: dict[str, float] = dict.fromkeys(
        ("update_time", "inherited", "residual_horizon", "immediate_drift", "accumulated_drift"), 0.0
    )
    for tau, following in zip(times, [*times[1:], horizon], strict=True):
        at_update = _update_time(lemmas, tau, D, alpha, m)
        terms["update_time"] += at_update
        mismatch = [
            lemmas.kernel_change(tau, j) * D + _action_span(lemmas, tau, j) for j in range(tau, horizon)
        ]
        for t in range(tau + 1, following):
            blocks = (horizon - t) // m
            terms["inherited"] += at_update
            terms["residual_horizon"] += alpha**blocks * D
            terms["immediate_drift"] += mismatch[t - tau]
            terms["accumulated_drift"] += 2 * alpha**blocks * sum(mismatch[blocks * m : horizon - t + 1])
            for block in range(blocks):
                terms["accumulated_drift"] += 2 * alpha**block * sum(mismatch[block * m : (block + 1) * m])
    return terms


def _update_time(lemmas: Lemmas, tau: int, D: float, alpha: float, m: int) -> float:
    length = lemmas.plan_length(tau)
    errors = [variation * D for variation in lemmas.estimate_variations(tau)]
    blocks = (length - 1) // m
    total = alpha**blocks * D + errors[0] + 2 * alpha**blocks * sum(errors[blocks * m + 1 :])
    for block in range(blocks):
        total += 2 * alpha**block * sum(errors[block * m + 1 : (block + 1) * m + 1])
    return total


def _action_span(lemmas: Lemmas, tau: int, j: int) -> float:
    """Max over s of the span over actions of r_j - r_tau, each expected under its own time's kernel."""
    world = lemmas.mission.world
    change = world.reward(j).expected(world.kernel(j)) - world.reward(tau).expected(world.kernel(tau))
    return float(np.ptp(change, axis=1).max())
