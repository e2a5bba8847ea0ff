"""The floor under every rule: the best update times that exist, with all kernels known.

`feedback` may choose each next update by the state just seen: `Best` in the world itself. `fixed` times are
chosen in advance, depth first under the values of the best feedback schedule, which no fixed one exceeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from replan.errors import InputError
from replan.evaluation.exact import evaluate
from replan.evaluation.visits import Follow, ways_in_world
from replan.execute.mission import Mission, require_world
from replan.model.kernel import Array, Indices
from replan.planning.optimal_values import oracle_return
from replan.schedule.fixed import FixedTimes
from replan.schedule.rule import Context, Decision, Need, Rule
from replan.skip.acting import Update
from replan.skip.best import EQUAL, Node, Programme
from replan.skip.spending import FIRST_UPDATE, Spending

TOLERANCE = 1e-12
"""Probabilities below this are dropped; on two-burst that moves regret by 2e-10."""


@dataclass(frozen=True)
class Optimum:
    """The best that any schedule or rule can do with the mission's budget or price, from its start state.

    With a price the objective is maximised; regrets stay without it.
    """

    oracle_return: float
    """Expected return of the oracle."""
    fixed_times: tuple[int, ...]
    """Best update times that are fixed in advance."""
    fixed_regret: float
    """Expected regret of the fixed times; not a number where they were not asked for."""
    fixed_proved: bool
    """Whether no fixed times do better; False: `fixed_times` are the best that was found."""
    feedback_regret: float
    """Expected regret of the best schedule that depends on the states seen."""
    feedback_updates: float
    """Expected number of its updates."""
    spending: Spending
    """Budget or price of the mission."""
    fixed_updates: float = 0.0
    """Expected number of updates at the fixed times: those that fall into a running one may be left out."""

    @property
    def fixed_objective(self) -> float:
        """Expected return of the fixed times minus the price of their updates."""
        return self.oracle_return - self.fixed_regret - self.spending.paid(self.fixed_updates)

    @property
    def feedback_objective(self) -> float:
        """Expected return of the feedback schedule minus the price of its updates."""
        return self.oracle_return - self.feedback_regret - self.spending.paid(self.feedback_updates)

    @property
    def fixed_label(self) -> str:
        """`optimal`, or `best found` if the search gave up the proof."""
        return "optimal" if self.fixed_proved else "best found"


def optimum(mission: Mission, *, fixed: bool = True) -> Optimum:
    """Find the best fixed and the best feedback schedule.

    Parameters
    ----------
    mission : Mission
        The mission; its budget or price is that of the schedules.
    fixed : bool
        Whether the best fixed times are searched for, too.

    Returns
    -------
    Optimum
        The least regret of any rule, and the best fixed update times.

    Raises
    ------
    InputError
        If the mission is no `Mission`, learns its estimates, or has returns that are not finite.
    """
    floor = Floor(mission, with_times=True)
    best, spending = floor.oracle_return, floor.mission.spending
    value, updates = float(floor.objectives[-1]), floor.updates
    feedback = best - value - spending.paid(updates)
    if not fixed:
        return Optimum(best, (), np.nan, False, feedback, updates, spending)
    search = FixedSearch(floor)
    search.extend((), 0.0, [(floor.mission.update(0), floor.start)])
    times = search.times
    if len(floor.mission.latency.durations) > 1:
        times = improved_times(floor.mission, times)
    found = evaluate(floor.mission, FixedTimes(times), all_starts=False)
    spent = found.expected_updates
    return Optimum(best, times, found.regret, search.proved, feedback, updates, spending, spent)


def improved_times(mission: Mission, times: tuple[int, ...]) -> tuple[int, ...]:
    """Return fixed times that get no better if one of them is moved, added or left out.

    Where durations are drawn, a time that falls into a running update moves to its end, which the search
    under feedback values does not weigh.
    """
    spending, every = mission.spending, range(1, mission.horizon)
    least = mission.limit if spending.exact else int(spending.first_is_forced)

    @cache
    def value(times: tuple[int, ...]) -> float:
        return evaluate(mission, FixedTimes(times), all_starts=False).objective

    def changed(times: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        kept = 1 if spending.first_is_forced else 0
        for without in (times[:i] + times[i + 1 :] for i in range(kept, len(times))):
            yield from (tuple(sorted((*without, t))) for t in every if t not in without)
            if len(without) >= least:
                yield without
        if len(times) < mission.limit:
            yield from (tuple(sorted((*times, t))) for t in every if t not in times)

    while (best := max(changed(times), key=value, default=times)) and value(best) > value(times) + EQUAL:
        times = best
    return times


def feedback_regrets(mission: Mission, largest: int) -> Array:
    """(B,) regret of the best feedback schedule for each budget from 1 to `largest`, by one programme."""
    floor = Floor(mission.with_spending(mission.spending.as_budget(largest)))
    return floor.oracle_return - floor.objectives[-largest:]


class Floor:
    """The best feedback schedule of a mission, from its start."""

    def __init__(self, mission: Mission, *, with_times: bool = False) -> None:
        require_world(mission)
        mission = mission.cropped
        mission = mission.with_spending(mission.allowed)
        self.mission, spending, start = mission, mission.spending, mission.world.start
        self.start = np.eye(1, mission.world.states, start)[0]
        self.oracle_return = best = float(oracle_return(mission.world)[start])
        if not np.isfinite(best):
            raise InputError(f"the optimum needs finite rewards: the best return from the start is {best}")
        forced = spending.first_is_forced
        self.ways = ways_in_world(mission, tolerance=TOLERANCE)
        self.programme = Programme(
            [(1.0, self.ways)],
            limit=spending.limit and spending.limit - forced,
            exact=spending.exact,
            prices=spending.price or 0.0,
            spacing=mission.latency.spacing,
            with_times=with_times,
        )
        free = mission.update(0)
        if not forced:
            (root,) = self.programme.solve(0, [[free]], None if self.ways.seen else np.array([start])).roots
            self.objectives = self._value(root)[start]
            """(C,) greatest expected return less prices, by the most updates that can be made."""
            return
        gains, places = self.ways.unasked(0, free, self.start)
        outcomes, here = self.ways.course.outcomes(FIRST_UPDATE, free), places[FIRST_UPDATE]
        self.programme.solve(FIRST_UPDATE, [[new] for _, new in outcomes], np.flatnonzero(here))
        parts = zip(outcomes, self.programme.roots, strict=True)
        self.objectives = gains[FIRST_UPDATE] + sum(p * (here @ self._value(root)) for (p, _), root in parts)

    def _value(self, root: Node) -> Array:
        if not root.asked:
            self.programme.root_value(root)
        return root.value

    @property
    def updates(self) -> float:
        """Expected number of updates behind the last objective."""
        if self.mission.spending.exact:
            return float(self.mission.limit)
        follow = Follow(self.mission, BestUpdates(self.programme), self.ways)
        return float(sum(visit.mass.sum() for visit in follow.visits(self.start) if visit.updated))


@dataclass(frozen=True, eq=False)
class BestUpdates(Rule):
    """The solution of a programme as a rule."""

    programme: Programme = field(repr=False)

    needs = frozenset({Need.STATE})

    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) the best next update times."""
        node = self._node(context, context.last_update)
        return node.next_times[states, self._column(context, node)]

    def updates(self, context: Context, states: Indices) -> np.ndarray:
        """(R,) whether an update now is better than any later one."""
        node, spent = self._node(context, context.time), self.programme.spent
        left = self._column(context, node)
        update = self.programme.updated(context.time, node)[states, left - spent]
        return update > node.value[states, left] + TOLERANCE

    def decide(self, context: Context) -> Decision:
        """Decide by the state."""
        due = bool(self.updates(context, np.array([context.state]))[0])
        return Decision(due, "an update now is best" if due else "a later update is better")

    def _node(self, context: Context, time: int) -> Node:
        return self.programme.nodes[time][self.programme.lead.behaviour(context.update, time)]

    def _column(self, context: Context, node: Node) -> int:
        return min(context.budget_left, node.value.shape[1] - 1) if self.programme.spent else 0


class FixedSearch:
    """Depth first over fixed schedules, the most promising time first, cut where feedback cannot win."""

    def __init__(self, floor: Floor) -> None:
        self.floor, self.mission, self.nodes = floor, floor.mission, floor.mission.sizes.schedules
        self.times: tuple[int, ...] = ()
        self.value = -np.inf
        self.proved = len(self.mission.latency.durations) == 1
        """Whether no fixed times do better. With drawn durations those that may overlap are left out."""

    def extend(self, times: tuple[int, ...], gained: float, parts: list[tuple[Update, Array]]) -> None:
        """Continue a schedule that has gained so much by its last update.

        `parts` are the updates that can be in force since, and (S,) the mass of robots that act on each.
        """
        spending, horizon, ways = self.mission.spending, self.mission.horizon, self.floor.ways
        last, left = times[-1] if times else 0, self.mission.limit - len(times)
        self.nodes -= 1
        ahead = [(update, *ways.unasked(last, update, mass)) for update, mass in parts]
        gains = gained + np.sum([gains for _, gains, _ in ahead], axis=0)
        forced = spending.exact or (spending.first_is_forced and not times)
        if left == 0 or not forced:
            self._offer(times, float(gains[horizon]))
        if left == 0:
            return
        bounds = {
            u: gains[u] + sum(self._worth(u, left, update, places[u]) for update, _, places in ahead)
            for u in self._candidates(times, left)
        }
        for u in sorted(bounds, key=bounds.__getitem__, reverse=True):
            if bounds[u] <= self.value + EQUAL:
                return
            if self.nodes <= 0 and self.times:
                self.proved = False
                return
            following = [
                (new, chance * places[u])
                for update, _, places in ahead
                for chance, new in ways.course.outcomes(u, update)
            ]
            self.extend((*times, u), float(gains[u]) - spending.paid(1), following)

    def _candidates(self, times: tuple[int, ...], left: int) -> range:
        """Return the times at which the next update can be."""
        spending, horizon = self.mission.spending, self.mission.horizon
        if not times:
            return range(1, 2) if spending.first_is_forced else range(1, horizon)
        earliest = times[-1] + spending.spacing
        latest = max(spending.latest(left, horizon), earliest) if spending.exact else horizon - 1
        return range(earliest, min(latest, horizon - 1) + 1)

    def _worth(self, time: int, left: int, update: Update, mass: Array) -> float:
        """Return what the best feedback schedule makes of an update of (S,) mass, less its price."""
        programme = self.floor.programme
        if time <= programme.time and not programme.roots[0].asked and programme.time:
            return np.inf  # the first update is forced, and not part of the programme
        here = np.flatnonzero(mass)
        worth = programme.updated_after(update, time)[here]
        known = mass[here] * worth[:, -1]
        if not (weight := known.sum()):
            return -np.inf
        column = left - 1 if programme.spent else 0
        return float(known @ np.where(known[:, None] > 0, worth, 0.0)[:, column] / weight * mass[here].sum())

    def _offer(self, times: tuple[int, ...], value: float) -> None:
        if value > self.value + EQUAL:
            self.times, self.value = times, value
