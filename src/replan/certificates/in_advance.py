"""A certificate in advance: for update times that are still to come, from the estimates made so far.

What later updates will find is unknown, and so are the plans they will make. But the estimate will lie in the
set that drift allows, so only some actions can be planned in a state and only some successors can be the
likeliest. Regret is bounded over all of these too: at every step the believed state may take any action that
some possible plan takes there. For MAP execution, whose estimate is a state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from replan import _loops
from replan.certificates.bound import optimistic_values, step_costs
from replan.certificates.boxes import RowBoxes
from replan.certificates.certificate import Certificate, Tightening, assumptions, promised, uncertainty
from replan.certificates.course import true_estimates
from replan.certificates.knowledge import Known, known_in
from replan.certificates.structure import SlipRange
from replan.certificates.uncertainty import Uncertainty, action_reward, losses
from replan.errors import InputError
from replan.execute.mission import Mission
from replan.model.kernel import MAP_TOLERANCE, Array, Indices
from replan.planning.ties import TIE_TOLERANCE, Ties
from replan.schedule.budget import FIRST_UPDATE, check_times

SURELY_TIED = 1e-12  # rounding; far below the tolerance of the tie rule
ADVANCE = Tightening(both_ends=False, slip_cells=1)


@dataclass(frozen=True)
class Possible:
    """What a robot may do after an update whose estimate is not known yet."""

    actions: Array  # (S, A) bool, what some possible plan does in a believed state
    successors: Indices  # (S, k)
    following: Array  # (S, A, k) bool, where the belief may go

    def reached(self, steps: int) -> list[Array]:
        """(X, S) for each step after the update, the believed and true states that can be."""
        goes = (self.actions[:, :, None] & self.following).any(axis=1)
        some = np.take_along_axis(self.successors, goes.argmax(axis=1)[:, None], axis=1)
        believed = np.where(goes, self.successors, some)
        where = [np.eye(len(self.successors), dtype=bool)]
        for _ in range(steps - 1):
            true_moved = _loops.certificates.spread_places(self.successors, where[-1])
            both_moved = _loops.certificates.spread_places(believed, np.ascontiguousarray(true_moved.T)).T
            where.append(np.ascontiguousarray(both_moved))
        return where


def certify_ahead(
    mission: Mission, times: Sequence[int], *, known_until: int = 0, tightening: Tightening = ADVANCE
) -> Certificate:
    """The certificate of update times in advance, from what is known at `known_until` (0: P_0 alone)."""
    if mission.execution != "map":
        raise InputError(
            'a certificate in advance is for execution = "map": a belief is not known in advance'
        )
    tightening = replace(tightening, slip_cells=1)  # a path of slips is not followed here
    times = check_times(times, budget=mission.budget, horizon=mission.horizon)
    made = [t for t in times if t <= max(known_until, FIRST_UPDATE)]  # the first plan is made on P_0 too
    known = known_in(mission.world, true_estimates(mission, made))
    uncertain = uncertainty(known, tightening)
    behaviours = {
        tau: _known_behaviour(mission, uncertain, tau)
        if tau == 0 or tau in made
        else possible_behaviour(mission, uncertain, tau)
        for tau in (0, *times)
    }
    return _bounded(mission, times, known, uncertain, behaviours, tightening)


def _bounded(
    mission: Mission,
    times: tuple[int, ...],
    known: Known,
    uncertain: RowBoxes | SlipRange,
    behaviours: dict[int, Possible],
    tightening: Tightening,
) -> Certificate:
    world, starts = mission.world, (0, *times)
    best = [values[0] for values in optimistic_values(uncertain, world.reward, world.horizon, world.states)]
    cost, arrival = step_costs(uncertain, world.reward, world.states)
    worst, tables = worst_ahead(uncertain, starts, behaviours, world.horizon, cost=cost, arrival=arrival)
    bound = best[0] + worst
    if tightening.one_kernel:
        given_away = losses(uncertain, world.reward, world.horizon, world.states)
        bound, _ = worst_ahead(
            uncertain,
            starts,
            behaviours,
            world.horizon,
            cost=lambda t: given_away[t][0],
            limit=lambda t: best[t] + tables[t],
        )
    return Certificate(
        **promised(world, bound, uncertain.contradiction),
        oracle_at_best=float(best[0][world.start]),
        robot_at_worst=-float(worst[world.start]),
        when="in advance",
        estimates="true kernel",
        probability=1.0,
        times=times,
        tightening=tightening,
        assumed=assumptions(known, uncertain),
    )


def possible_behaviour(mission: Mission, uncertain: Uncertainty, tau: int) -> Possible:
    """What the robot may do after an update at tau, whatever estimate of P_{tau-1} it finds."""
    states, t = mission.world.states, tau - 1
    apart, nominal = np.zeros((states, states)), np.zeros(states)
    advantages = np.zeros(0)
    for h in range(min(mission.planning_horizon, mission.horizon - tau) - 1, -1, -1):
        reward = mission.world.reward(tau + h)
        of_action = action_reward(uncertain, reward, states)
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
    actions = plannable(advantages.max(axis=0), mission.ties)
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


def _known_behaviour(mission: Mission, uncertain: Uncertainty, tau: int) -> Possible:
    """The one thing that a robot does whose plan is made."""
    update = mission.update(tau)
    states = np.arange(mission.world.states)
    actions = np.zeros((mission.world.states, mission.world.actions), dtype=bool)
    actions[states, update.plan.policy] = True
    successors = uncertain.rows(0)[0]
    following = successors[:, None, :] == update.kernel.most_likely()[:, :, None]
    return Possible(actions, successors, following)


def worst_ahead(
    uncertain: Uncertainty,
    starts: Sequence[int],
    behaviours: dict[int, Possible],
    horizon: int,
    *,
    cost: Callable[[int], Array],
    arrival: Callable[[int], Array | None] = lambda t: None,
    limit: Callable[[int], Array] | None = None,
    everywhere: bool = False,
) -> tuple[Array, list[Array]]:
    """(S,) the greatest total of costs, and for every t (X, S) from a believed and a true state on.

    Pairs of states that cannot come about after the update are left out, unless `everywhere`.
    """
    states = len(next(iter(behaviours.values())).successors)
    tables: list[Array] = []
    table = np.zeros((states, states))
    for begin, end in zip(reversed(starts), [horizon, *reversed(starts[1:])], strict=True):
        ahead = np.zeros((states, states)) if end == horizon else np.tile(np.diagonal(table), (states, 1))
        all_pairs = np.ones((states, states), dtype=bool)
        where = [all_pairs] * (end - begin) if everywhere else behaviours[begin].reached(end - begin)
        for t in range(end - 1, begin - 1, -1):
            extra = arrival(t)
            ahead = ahead if extra is None else ahead + extra
            table = _step(uncertain, t, behaviours[begin], cost(t), ahead, where[t - begin])
            if limit is not None:
                table = np.minimum(table, limit(t))
            tables.append(table)
            ahead = table
    return np.diagonal(table).copy(), tables[::-1]


def _step(uncertain: Uncertainty, t: int, may: Possible, cost: Array, ahead: Array, where: Array) -> Array:
    """(X, S) the worst action that a plan may take in each believed state, the worst place it may go to."""
    out = np.full(ahead.shape, -np.inf)
    for a in range(may.actions.shape[1]):
        believed = np.flatnonzero(may.actions[:, a])
        if believed.size == 0:
            continue
        goes = may.following[believed, a]  # (X', k)
        target = np.full((believed.size, ahead.shape[1]), -np.inf)
        for slot in range(goes.shape[1]):
            chosen = goes[:, slot]
            target[chosen] = np.maximum(target[chosen], ahead[may.successors[believed[chosen], slot]])
        taken = np.full(believed.size, a)
        out[believed] = np.maximum(out[believed], uncertain.step(t, 0, cost, taken, target, where[believed]))
    return out
