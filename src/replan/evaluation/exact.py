"""Regret without sampling.

What happens until the next update is a function of the state at the last one, so expected returns follow by
pushing distributions through each skip interval and chaining the intervals: forwards from one start, which
also gives the loss of every step (Delta_t of the paper's proof), or backwards for all starts at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.model.kernel import Array, Indices
from replan.planning.backward_induction import Oracle, oracle
from replan.schedule.budget import FIRST_UPDATE, check_times, clamp, next_update_law
from replan.schedule.fixed import FixedTimes
from replan.schedule.rule import Rule, compares_estimates, plans_many_ahead
from replan.skip.interval import skip_interval

ALL_STARTS_LIMIT = (
    2_500  # states; all starts at once cost O(S^2 T), so beyond this only the given start is done
)
ROWS_AT_ONCE = 512  # states at an update that are pushed together; bounds memory at ROWS_AT_ONCE * S numbers


@dataclass(frozen=True)
class Steps:
    """The expected loss of each time, from the mission's start; the sum of all is the regret."""

    update_loss: Array = field(repr=False)  # (T,) lost at times that are updates
    skip_loss: Array = field(repr=False)  # (T,) lost at times that are skipped, t = 0 included
    update_probability: Array = field(repr=False)  # (T,) that t is an update

    @property
    def loss(self) -> Array:
        """(T,) Delta_t."""
        return self.update_loss + self.skip_loss


@dataclass(frozen=True)
class Evaluation:
    """What a schedule or rule is worth."""

    oracle_return: float
    expected_return: float
    steps: Steps
    dynamic_regret: float | None  # max over start states; None beyond ALL_STARTS_LIMIT

    @property
    def regret(self) -> float:
        """The oracle's expected return minus the rule's, from the start state."""
        return self.oracle_return - self.expected_return


class Past(NamedTuple):
    """What a rule may know, at an update, of those before it, but for its own estimate and state."""

    left: int  # updates not yet spent
    earlier: int = 0  # time of the update before, for a rule that compares estimates; 0: none

    def after(self, time: int, rule: Rule) -> Past:
        """The past of the next update, after one at `time`."""
        return Past(self.left - 1, time if compares_estimates(rule) else 0)


def evaluate(mission: Mission, rule: Rule, *, best: Oracle | None = None) -> Evaluation:
    """The exact expected return of a rule, its regret, and the loss of each step."""
    best = best or oracle(mission.world)
    expected_return, steps = from_start(mission, rule, best)
    dynamic = None
    if mission.world.states <= ALL_STARTS_LIMIT:
        starts = mission.world.start_states
        gap = best.values[0] - all_returns(mission, rule)
        dynamic = float((gap if starts is None else gap[starts]).max())
    return Evaluation(float(best.values[0][mission.world.start]), expected_return, steps, dynamic)


def evaluate_times(mission: Mission, times, *, best: Oracle | None = None) -> Evaluation:
    """The exact value of given update times."""
    times = check_times(times, budget=mission.budget, horizon=mission.horizon)
    return evaluate(mission, FixedTimes(times), best=best)


def regret(mission: Mission, rule: Rule, *, best: Oracle | None = None) -> float:
    """The exact regret alone, from the start state."""
    best = best or oracle(mission.world)
    value = from_start(mission, rule, None)[0]
    return float(best.values[0][mission.world.start]) - value


def update_laws(
    mission: Mission, rule: Rule, time: int, left: int, states: Indices, *, earlier: int = 0
) -> Array:
    """(R, T + 1) probability of each next update time, for robots that saw `states` at `time`.

    `earlier` is the time of the update before, which matters to a rule that compares estimates.
    """
    if compares_estimates(rule) and time > FIRST_UPDATE and not earlier:
        raise InputError(f"{rule.name} compares its last two estimates: it cannot be asked with one")
    seen = {"last_update": time, "earlier_update": earlier, "budget_left": left}
    if plans_many_ahead(rule) and left > 0:
        at_update = mission.context_at(rule, **seen, state=int(states[0]))(-1)
        laws = np.zeros((len(states), mission.horizon + 1))
        for row, chosen in enumerate(rule.next_updates(at_update, states)):
            laws[row, clamp(chosen, at_update, exact=mission.exact_budget)] = 1.0
        return laws
    asked = states if rule.uses_state else states[:1]
    laws = [
        next_update_law(rule, mission.context_at(rule, **seen, state=int(s)), exact=mission.exact_budget)
        for s in asked
    ]
    return np.broadcast_to(np.stack(laws), (len(states), mission.horizon + 1))


def from_start(mission: Mission, rule: Rule, best: Oracle | None) -> tuple[float, Steps]:
    """Expected return from the start state, and where an oracle is given the loss of every step."""
    world, horizon = mission.world, mission.horizon
    total = 0.0
    update_loss, skip_loss, update_probability = np.zeros((3, horizon))
    arrivals: dict[int, dict[Past, Array]] = defaultdict(dict)  # time -> past -> (S,) mass
    start = np.zeros(world.states)
    start[world.start] = 1.0
    arrivals[0][Past(mission.budget)] = start
    for time in range(horizon):
        for past, mass in sorted(arrivals.pop(time, {}).items()):
            following = past.after(time, rule)
            if time > 0:
                update_probability[time] += mass.sum()
            for rows in _row_blocks(mass):
                laws = _laws(mission, rule, time, past, rows)
                still = mass[rows]  # (R,) probability of having come here and not updated since
                for step in _interval(mission, time, rows, _last_time(laws)):
                    total += float(still @ step.reward)
                    if best is not None:
                        lost = np.einsum("rs,rs->r", step.before, best.loss(step.time).T[step.actions])
                        part = update_loss if step.time == time and time > 0 else skip_loss
                        part[step.time] += float(still @ lost)
                    leaving = mass[rows] * laws[:, step.time + 1]
                    if step.time + 1 < horizon and leaving.any():
                        here = arrivals[step.time + 1].setdefault(following, np.zeros(world.states))
                        here += leaving @ step.after
                    still = still - leaving
    return total, Steps(update_loss, skip_loss, update_probability)


def all_returns(mission: Mission, rule: Rule) -> Array:
    """(S,) expected return from every start state, by chaining skip intervals backwards."""
    world, horizon = mission.world, mission.horizon
    everyone = np.arange(world.states)
    nodes = _reachable(mission, rule, everyone)
    values: dict[tuple[int, Past], Array] = {}
    for time in sorted({t for t, _ in nodes}, reverse=True):
        here = {past: nodes[time, past] for t, past in nodes if t == time}
        for past in here:
            values[time, past] = np.zeros(world.states)
        gained = np.zeros(world.states)
        for step in _interval(mission, time, everyone, max(_last_time(laws) for laws in here.values())):
            gained = gained + step.reward
            for past, laws in here.items():
                weight = laws[:, step.time + 1]
                if weight.any():
                    following = step.time + 1, past.after(time, rule)
                    ahead = 0.0 if step.time + 1 == horizon else step.after @ values[following]
                    values[time, past] += weight * (gained + ahead)
    return values[0, Past(mission.budget)]


def _reachable(mission: Mission, rule: Rule, states: Indices) -> dict[tuple[int, Past], Array]:
    """(time, past) of every update that can happen -> (S, T + 1) law of the next one."""
    nodes: dict[tuple[int, Past], Array] = {}
    waiting = [(0, Past(mission.budget))]
    while waiting:
        time, past = node = waiting.pop()
        if node not in nodes:
            nodes[node] = laws = _laws(mission, rule, time, past, states)
            times = np.flatnonzero(laws.any(axis=0))
            waiting += [(int(t), past.after(time, rule)) for t in times if t < mission.horizon]
    return nodes


def _laws(mission: Mission, rule: Rule, time: int, past: Past, rows: Indices) -> Array:
    if time == 0:
        first = np.zeros((len(rows), mission.horizon + 1))
        first[:, FIRST_UPDATE] = 1.0
        return first
    return update_laws(mission, rule, time, past.left, rows, earlier=past.earlier)


def _last_time(laws: Array) -> int:
    return int(np.flatnonzero(laws.any(axis=0))[-1])


def _interval(mission: Mission, begin: int, rows: Indices, end: int):
    how = mission.update(begin).propagation
    return skip_interval(mission.world.kernel, mission.world.reward, how, rows, begin=begin, end=end)


def _row_blocks(mass: Array) -> Iterator[Indices]:
    rows = np.flatnonzero(mass)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[first : first + ROWS_AT_ONCE]
