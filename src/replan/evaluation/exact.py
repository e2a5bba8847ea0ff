"""Regret without sampling.

Until the next update everything is a function of the state at the last one, so expected returns follow by
pushing distributions through each skip interval and chaining the intervals: forwards from one start, which
also gives the loss of every step (Delta_t of the paper's proof), or backwards for all starts at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from replan.execute.config import Key, Progress
from replan.execute.mission import Mission
from replan.execute.reach import is_slip_grid, within_reach
from replan.model.kernel import Array, Indices
from replan.model.memory import require_memory
from replan.model.reward import expectation
from replan.model.window import LARGE
from replan.planning.optimal_values import Oracle, oracle, require_oracle_memory
from replan.schedule.ask import next_updates
from replan.schedule.budget import FIRST_UPDATE, Kind, Prices
from replan.schedule.fixed import FixedTimes
from replan.schedule.rule import Need, Rule
from replan.skip.interval import SkipStep, continue_interval, skip_interval
from replan.skip.propagation import likeliest

ALL_STARTS_LIMIT = 2_500
"""States beyond which only the given start is evaluated: all starts at once cost O(S^2 T)."""
ROWS_AT_ONCE = 512
"""States at an update that are pushed together; bounds memory at ROWS_AT_ONCE * S numbers."""

ARRAYS_AT_ONCE = 5
"""Arrays of ROWS_AT_ONCE distributions that a step of exact evaluation holds."""


@dataclass(frozen=True)
class Steps:
    """The expected loss of each time, from the mission's start; the sum of all is the regret."""

    update_loss: Array = field(repr=False)
    """(T,) lost at times that are updates."""
    skip_loss: Array = field(repr=False)
    """(T,) lost at times that are skipped, t = 0 included."""
    update_probability: Array = field(repr=False)
    """(T,) that there is a look or a plan at t."""
    look_probability: Array = field(repr=False)
    """(T,)"""
    plan_probability: Array = field(repr=False)
    """(T,)"""

    @property
    def loss(self) -> Array:
        """(T,) Delta_t."""
        return self.update_loss + self.skip_loss


@dataclass(frozen=True)
class Evaluation:
    """Return and regret of a schedule or rule."""

    oracle_return: float
    expected_return: float
    steps: Steps
    dynamic_regret: float | None
    """The greatest regret over start states; None beyond ALL_STARTS_LIMIT or where it was not asked for."""
    prices: Prices | None = None
    """Of the mission."""

    @property
    def regret(self) -> float:
        """The oracle's expected return minus the rule's, from the start state."""
        return self.oracle_return - self.expected_return

    @property
    def expected_updates(self) -> float:
        """Expected number of times with a look or a plan."""
        return float(self.steps.update_probability.sum())

    @property
    def expected_looks(self) -> float:
        """Expected number of looks."""
        return float(self.steps.look_probability.sum())

    @property
    def expected_plans(self) -> float:
        """Expected number of plans."""
        return float(self.steps.plan_probability.sum())

    @property
    def objective(self) -> float:
        """Expected return minus the price of all looks and plans."""
        paid = (self.prices or Prices()).paid(self.expected_looks, self.expected_plans)
        return self.expected_return - paid


class UpdateTimes:
    """Distributions of the next update time and its kind: a rule is asked once for each update and state."""

    def __init__(self, mission: Mission, rule: Rule) -> None:
        self.mission, self.rule = mission, rule
        self.by_state = Need.STATE in rule.needs
        self._known: dict[Key, dict[int, tuple[Array, int]]] = defaultdict(dict)

    def __call__(self, progress: Progress, states: Indices) -> tuple[Array, Indices]:
        """(R, T + 1) probability of each next update time for robots that saw `states`; T: none.

        And (R,) the kind of that update. After a plan alone `states` are the likeliest ones.
        """
        mission, count = self.mission, len(states)
        if progress.last_update < FIRST_UPDATE and mission.prices is None:
            first = np.broadcast_to(
                np.eye(1, mission.horizon + 1, FIRST_UPDATE), (count, mission.horizon + 1)
            )
            return first, np.full(count, int(Kind.BOTH))
        known = self._known[progress.key(self.rule)]
        asked = states.tolist() if self.by_state else [-1] * len(states)
        if new := [row for row, state in enumerate(asked) if state not in known]:
            context_at = partial(mission.context, self.rule, progress)
            new = new if self.by_state else new[:1]
            found = next_updates(
                self.rule, context_at, mission.seen(states[new]), spend_all=mission.config.must_spend
            )
            known.update(zip([asked[row] for row in new], zip(*found, strict=True), strict=True))
        return np.stack([known[state][0] for state in asked]), np.array([known[state][1] for state in asked])


def draws_times(mission: Mission, rule: Rule) -> bool:
    """Return whether the times of a rule differ between seeds where the states seen do not."""
    if type(rule).next_update is Rule.next_update:
        return False
    update_times, start = UpdateTimes(mission, rule), np.array([mission.world.start])
    progress, time = mission.beginning(), 0
    while time < mission.horizon:
        (chances,), (kind,) = update_times(progress, start)
        if np.count_nonzero(chances) > 1:
            return True
        time = int(chances.argmax())
        if time < mission.horizon:
            progress = mission.after(progress, time, Kind(kind))
    return False


def reach_and_oracle(mission: Mission, best: Oracle | None) -> tuple[Mission, Oracle]:
    """Return the mission on the states that its robot can reach, and the oracle's values there."""
    within = within_reach(mission)
    if best is not None and within is mission:
        _require_room(within)
        return within, best
    _require_room(within, beside=require_oracle_memory(within.world))
    return within, oracle(within.world)


def evaluate(
    mission: Mission, rule: Rule, *, best: Oracle | None = None, all_starts: bool = True
) -> Evaluation:
    """Return the exact expected return of a rule, its regret, and the loss of each step.

    Without `all_starts`, or with two budgets, the dynamic regret is left out.
    """
    mission, best = reach_and_oracle(mission, best)
    update_times = UpdateTimes(mission, rule)
    expected_return, steps = _forwards(update_times, best)
    dynamic = None
    small = mission.is_whole and mission.world.states <= ALL_STARTS_LIMIT
    if all_starts and not mission.apart and small:
        dynamic = worst_regret(mission, best.values[0] - _backwards(update_times))
    return Evaluation(
        float(best.values[0][mission.world.start]), expected_return, steps, dynamic, mission.prices
    )


def evaluate_times(mission: Mission, times, *, best: Oracle | None = None) -> Evaluation:
    """Return the exact value of given update times."""
    return evaluate(mission, FixedTimes(mission.check_times(times)), best=best)


def regret(mission: Mission, rule: Rule, *, best: Oracle | None = None) -> float:
    """Return the exact regret from the start state."""
    mission, best = reach_and_oracle(mission, best)
    return float(best.values[0][mission.world.start]) - from_start(mission, rule, None)[0]


def priced_regret(mission: Mission, rule: Rule, *, best: Oracle | None = None) -> float:
    """Return the exact regret from the start state plus the price of the updates."""
    mission, best = reach_and_oracle(mission, best)
    expected_return, steps = from_start(mission, rule, None)
    looks, plans = float(steps.look_probability.sum()), float(steps.plan_probability.sum())
    paid = (mission.prices or Prices()).paid(looks, plans)
    return float(best.values[0][mission.world.start]) - expected_return + paid


def worst_regret(mission: Mission, regrets: Array) -> float:
    """Return the greatest of (S,) regrets over the start states of the world."""
    starts = mission.world.start_states
    return float((regrets if starts is None else regrets[starts]).max())


def from_start(mission: Mission, rule: Rule, best: Oracle | None) -> tuple[float, Steps]:
    """Return the expected return from the start state and, given the oracle, the loss of every step."""
    if best is None:
        return _forwards(UpdateTimes(within_reach(mission), rule), None)
    mission, best = reach_and_oracle(mission, best)
    return _forwards(UpdateTimes(mission, rule), best)


def all_returns(mission: Mission, rule: Rule) -> Array:
    """(S,) expected return from every start state."""
    return _backwards(UpdateTimes(mission, rule))


def _forwards(update_times: UpdateTimes, best: Oracle | None) -> tuple[float, Steps]:
    """Follow the start's distribution from update to update."""
    total = 0.0
    update_loss, skip_loss, updates, looks, plans = np.zeros((5, update_times.mission.horizon))
    for progress, step, still in visits(update_times, partial(mission_robots, update_times.mission)):
        total += float(still @ step.reward)
        updated = step.time == progress.last_update and step.time > 0
        if updated:
            updates[step.time] += still.sum()
            looks[step.time] += still.sum() * (Kind.LOOK in progress.kind)
            plans[step.time] += still.sum() * (Kind.PLAN in progress.kind)
        if best is not None:
            lost = expectation(step.before, step.actions, best.loss(step.time))
            (update_loss if updated else skip_loss)[step.time] += float(still @ lost)
    return total, Steps(update_loss, skip_loss, updates, looks, plans)


Robots = tuple[Indices, Array, Callable[[int], Iterator[SkipStep]]]
"""(R,) states seen at an update, (R,) their probability, and the steps from there to a given time."""


@dataclass(frozen=True, eq=False)
class Planned:
    """Robots that have planned without a look: they differ by the state seen at the last look."""

    share: Array
    """(R,) their probability."""
    before: Array
    """(R, S) distribution of the true state."""
    estimate: Any
    """Of the propagation: (R,) states or (R, S) beliefs."""

    def robots(self, mission: Mission, progress: Progress) -> Robots:
        """Return the robots with the likeliest states in place of states seen."""
        world, propagation = mission.world, progress.update.propagation
        steps = partial(
            continue_interval, world.kernel, world.reward, propagation, self.before, self.estimate,
            begin=progress.last_update,
        )  # fmt: skip
        return likeliest(self.estimate), self.share, lambda end: steps(end=end)


def _require_room(mission: Mission, *, beside: int = 0) -> None:
    """Raise `InputError` if the distributions of a step, beside other numbers, would not fit into memory."""
    states = mission.world.states
    occupied = min(states, 2 * mission.horizon**2) if _is_sparse(mission) else states
    require_memory(beside + ARRAYS_AT_ONCE * min(ROWS_AT_ONCE, states) * occupied, "exact evaluation")


def visits(
    update_times: UpdateTimes, robots_at: Callable[[Progress, Array], Iterator[Robots]]
) -> Iterator[tuple[Progress, SkipStep, Array]]:
    """Yield every step of every skip interval, with (R,) the probability that its robots come to take it.

    `robots_at` tells how robots act that are distributed as (S,) mass at an update.
    """
    mission = update_times.mission
    _require_room(mission)
    start = np.eye(1, mission.world.states, mission.world.start)[0]
    first = mission.beginning()
    arrivals = _Arrivals(mission, update_times.rule)
    arrivals.looked(first, start)
    for time in range(mission.horizon):
        for progress, mass, planned in arrivals.at(time):
            groups = robots_at(progress, mass) if mass.any() else iter(())
            for rows, share, steps_until in chain(groups, (p.robots(mission, progress) for p in planned)):
                chances, kinds = update_times(progress, rows)
                still = share
                for step in steps_until(_last_time(chances)):
                    yield progress, step, still
                    leaving = share * chances[:, step.time + 1]
                    if step.time + 1 < mission.horizon and leaving.any():
                        arrivals.leave(progress, step, leaving, kinds)
                    still = still - leaving


class _Arrivals:
    """Robots by the time of their next update and by its bookkeeping."""

    def __init__(self, mission: Mission, rule: Rule) -> None:
        self.mission, self.rule = mission, rule
        self.waiting: dict[int, dict[Key, tuple[Progress, Array, list[Planned]]]] = defaultdict(dict)

    def at(self, time: int) -> Iterator[tuple[Progress, Array, list[Planned]]]:
        """Yield those of one time: (S,) mass of states seen, and robots that have planned without a look."""
        for key in sorted(self.waiting.get(time, {})):
            yield self.waiting[time].pop(key)

    def looked(self, progress: Progress, mass: Array) -> None:
        """Add robots that see (S,) `mass`."""
        self._node(progress)[1][:] += mass

    def leave(self, progress: Progress, step: SkipStep, leaving: Array, kinds: Indices) -> None:
        """Add (R,) `leaving` robots that update after a step, each in its kind."""
        for kind in map(Kind, np.unique(kinds[leaving > 0]).tolist()):
            following = self.mission.after(progress, step.time + 1, kind)
            chosen = kinds == kind
            if Kind.LOOK in kind:
                self.looked(following, np.where(chosen, leaving, 0.0) @ step.after)
                continue
            rows = np.flatnonzero(chosen & (leaving > 0))
            estimate = progress.update.propagation.advance(step.estimate, step.actions, step.time)[rows]
            self._node(following)[2].append(Planned(leaving[rows], step.after[rows], estimate))

    def _node(self, progress: Progress) -> tuple[Progress, Array, list[Planned]]:
        empty = progress, np.zeros(self.mission.world.states), []
        return self.waiting[progress.last_update].setdefault(progress.key(self.rule), empty)


def mission_robots(mission: Mission, progress: Progress, mass: Array) -> Iterator[Robots]:
    """Group robots by the state that they see; each acts as the mission's robot does."""
    for rows in row_blocks(mass):
        yield rows, mass[rows], partial(_interval, mission, progress, rows)


def row_blocks(mass: Array) -> Iterator[Indices]:
    """Yield the states that have mass, ROWS_AT_ONCE at a time."""
    rows = np.flatnonzero(mass)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[first : first + ROWS_AT_ONCE]


def _backwards(update_times: UpdateTimes) -> Array:
    """(S,) expected return from every start state, by chaining skip intervals backwards."""
    mission, rule = update_times.mission, update_times.rule
    everyone = np.arange(mission.world.states)
    nodes = _reachable(update_times, everyone)
    values: dict[Key, Array] = {}
    same_update = defaultdict(dict)
    for key, node in nodes.items():
        same_update[key[0], node[0].update.compared][key] = node
    for _, here in sorted(same_update.items(), key=itemgetter(0), reverse=True):
        for key in here:
            values[key] = np.zeros(mission.world.states)
        gained = np.zeros(mission.world.states)
        progress = next(iter(here.values()))[0]
        for step in _interval(mission, progress, everyone, max(_last_time(c) for _, c in here.values())):
            gained = gained + step.reward
            for key, (progress, chances) in here.items():
                weight = chances[:, step.time + 1]
                if weight.any():
                    ahead = 0.0
                    if step.time + 1 < mission.horizon:
                        following = mission.after(progress, step.time + 1)
                        ahead = step.after @ values[following.key(rule)]
                    values[key] += weight * (gained + ahead)
    return values[mission.beginning().key(rule)]


def _reachable(update_times: UpdateTimes, states: Indices) -> dict[Key, tuple[Progress, Array]]:
    """Return the progress of every update that can happen, and (S, T + 1) chances of the next one."""
    mission, rule = update_times.mission, update_times.rule
    nodes: dict[Key, tuple[Progress, Array]] = {}
    waiting = [mission.beginning()]
    while waiting:
        progress = waiting.pop()
        key = progress.key(rule)
        if key not in nodes:
            chances, _ = update_times(progress, states)
            nodes[key] = progress, chances
            times = np.flatnonzero(chances.any(axis=0))
            waiting += [mission.after(progress, int(t)) for t in times if t < mission.horizon]
    return nodes


def _last_time(chances: Array) -> int:
    return int(np.flatnonzero(chances.any(axis=0))[-1])


def _is_sparse(mission: Mission) -> bool:
    """Return whether distributions are kept as sparse matrices: where they hold few of many cells."""
    large = mission.world.states > LARGE and not mission.apart
    return not mission.is_whole or (large and is_slip_grid(mission.world))


def _interval(mission: Mission, progress: Progress, rows: Indices, end: int) -> Iterator[SkipStep]:
    return skip_interval(
        mission.world.kernel,
        mission.world.reward,
        progress.update.propagation,
        rows,
        begin=progress.last_update,
        end=end,
        sparse=_is_sparse(mission),
    )
