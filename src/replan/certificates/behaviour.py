"""Actions that a robot may take after an update whose estimate is not known yet.

The estimate will lie in the set that drift allows, so only some actions can be planned in a state and only
some successors can be the likeliest. For MAP execution, whose estimate of the state is a state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan import _loops
from replan.certificates.uncertainty import Uncertainty, action_reward
from replan.execute.mission import Mission
from replan.model.kernel import MAP_TOLERANCE, Array, Indices
from replan.planning.ties import TIE_TOLERANCE, Ties

SURELY_TIED = 1e-12  # rounding; far below the tolerance of the tie rule


@dataclass(frozen=True)
class Possible:
    """Actions and believed states that are possible after an update whose estimate is not known yet."""

    actions: Array  # (S, A) bool, actions of some possible plan in a believed state
    successors: Indices  # (S, k)
    following: Array  # (S, A, k) bool, where the belief may go

    def reached(self, steps: int) -> list[Array]:
        """(X, S) for each step after the update, the believed and true states that can be."""
        goes = (self.actions[:, :, None] & self.following).any(axis=1)
        some = np.take_along_axis(self.successors, goes.argmax(axis=1)[:, None], axis=1)
        believed = np.where(goes, self.successors, some)
        states = len(self.successors)
        where = [np.eye(states, dtype=bool)]
        for _ in range(steps - 1):
            true_moved = _loops.certificates.spread_places(self.successors, where[-1], states)
            turned = np.ascontiguousarray(true_moved.T)
            both_moved = _loops.certificates.spread_places(believed, turned, states).T
            where.append(np.ascontiguousarray(both_moved))
        return where


def possible_behaviour(mission: Mission, uncertain: Uncertainty, tau: int) -> Possible:
    """Return the behaviour after an update at tau, whatever estimate of P_{tau-1} it makes."""
    states, t = mission.world.states, tau - 1
    apart, nominal = np.zeros((states, states)), np.zeros(states)
    advantages = np.zeros(0)
    for h in range(min(mission.robot.planning_horizon, mission.horizon - tau) - 1, -1, -1):
        reward = mission.world.reward(tau + h)
        of_action = action_reward(uncertain, reward, t)
        if reward.next_state is not None:
            apart = apart + (reward.next_state[:, None] - reward.next_state[None, :])
            nominal = nominal + reward.next_state
        if h == 0:
            advantages = uncertain.advantages(t, 0, of_action, apart)
            break
        apart, nominal = (
            uncertain.pairs(t, 0, of_action, apart, nominal),
            uncertain.middle(t, of_action, nominal),
        )
    actions = plannable(advantages.max(axis=0), mission.robot.ties)
    successors, lower, upper = uncertain.rows(t)
    following = (upper >= lower.max(axis=2, keepdims=True) - MAP_TOLERANCE) & (upper > 0)
    return Possible(actions, successors, following)


def plannable(advantages: Array, ties: Ties) -> Array:
    """(S, A) bool, which actions may be chosen, from bounds on Z(s, b) - Z(s, a), b first.

    An action is out where another is surely better, or surely as good and preferred by the tie rule.
    """
    possible = np.asarray((advantages >= -TIE_TOLERANCE).all(axis=2))
    if ties.kind == "random":
        return possible
    never_better = advantages <= SURELY_TIED
    preferred = np.tri(advantages.shape[1], k=-1, dtype=bool)  # [a, b]: b comes before a
    beaten = never_better & (preferred if ties.kind == "first" else preferred.T)
    return np.asarray(possible & ~beaten.any(axis=2))


def known_behaviour(mission: Mission, uncertain: Uncertainty, tau: int) -> Possible:
    """Return the behaviour of a plan that is made already."""
    update = mission.update(tau)
    states = np.arange(mission.world.states)
    actions = np.zeros((mission.world.states, mission.world.actions), dtype=bool)
    actions[states, update.plan.policy] = True
    successors = uncertain.rows(0)[0]
    following = successors[:, None, :] == update.kernel.most_likely()[:, :, None]
    return Possible(actions, successors, following)
