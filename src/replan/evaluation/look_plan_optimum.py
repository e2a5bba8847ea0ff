"""The least regret where looks and plans have budgets of their own.

Between two looks the estimate follows from the state seen at the first of them and the plans since. With
plans at given times the best looks are therefore a dynamic programme as for updates (`looks_regrets`), and
times of plans are found by local search over it (`look_plan_floors`). On small worlds looks and plans are
both chosen by the states seen, exactly (`replan.evaluation.look_plan_programme`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Literal

import numpy as np

from replan.evaluation.exact import regret
from replan.evaluation.look_plan_programme import best_of_both
from replan.evaluation.optimal_schedule import best_feedback, feedback_regrets
from replan.execute.config import Update
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.planning.backward_induction import Oracle, oracle
from replan.schedule.fixed import FixedTimes
from replan.schedule.periodic import periodic_times
from replan.schedule.rule import Rule
from replan.skip.propagation import BeliefPropagation, MapPropagation, Propagation

SEARCHED = 16
"""Moves of a plan that are tried for one budget of plans at most."""
STRIDES = (8, 4, 2, 1)
"""Distances by which the search moves a plan."""
NEGLIGIBLE = 5e-4
"""The search ends if planning at every step would gain no more than this."""


@dataclass(frozen=True)
class LookPlanOptimum:
    """The least regret with budgets of looks and plans, from the mission's start state."""

    regret: float
    """Expected regret."""
    plans: tuple[int, ...] | None
    """Times of the plans; None where they are chosen by the states seen."""
    label: Literal["optimal", "best found"]
    """`optimal`: nothing does better. `best found`: the best looks for plans at times that a search finds, or
    updates that are both, with what is left over at the end."""


def look_plan_optimum(mission: Mission, *, best: Oracle | None = None) -> LookPlanOptimum:
    """Return the optimum of a mission with two budgets."""
    looks, plans = mission.config.budgets
    return look_plan_floors(mission, (looks,), (plans,), best=best)[looks, plans]


def look_plan_floors(
    mission: Mission, looks: Sequence[int], plans: Sequence[int], *, best: Oracle | None = None
) -> dict[tuple[int, int], LookPlanOptimum]:
    """Return the optimum for all of these budgets, by the exact programme where the world is small enough.

    Elsewhere plans are at fixed times that are searched for, together for all budgets of looks, unless
    updates that are both do better.
    """
    best = best or oracle(mission.world)
    most, search = float(best.values[0][mission.world.start]), _PlanSearch(mission, tuple(looks), best)
    found: dict[tuple[int, int], LookPlanOptimum] = {}
    for count in plans:
        apart = {look: mission.with_budget(None, looks=look, plans=count) for look in looks}
        exact = {look: best_of_both(each) for look, each in apart.items()}
        for look, each in exact.items():
            if each is None:
                found |= {(look, count): one for look, one in search.best_with(count).items()}
                break
            found[look, count] = LookPlanOptimum(most - each.objective, None, "optimal")
    return found


def looks_regrets(mission: Mission, plans: tuple[int, ...], largest: int) -> Array:
    """(L,) least regret of 1 to `largest` looks chosen by the state just seen, with plans at these times."""
    acting = propagation_of(mission, plans)
    return feedback_regrets(mission, largest, acting_from=lambda time: acting)


def propagation_of(mission: Mission, plans: tuple[int, ...]) -> Propagation:
    """Return how a robot acts from the first of these times on that plans at each of them."""
    made = {time: mission.update(time, before) for before, time in pairwise((0, *plans))}
    begin, in_force = plans[0], list[Update]()
    times = range(begin, mission.horizon)
    for t in times:
        in_force.append(made[t] if t in made else in_force[-1])
    acting = [update.propagation for update in in_force]
    if all(isinstance(each, MapPropagation) for each in acting):
        maps = [each for each in acting if isinstance(each, MapPropagation)]
        rows = [(each, each.row(t)) for t, each in zip(times, maps, strict=True)]
        policy = np.stack([each.policy[row] for each, row in rows])
        return MapPropagation(begin, policy, tuple(each.kernels[row] for each, row in rows))
    first, *later = (update.plan.at(t) for t, update in zip(times, in_force, strict=True))

    def kernel_at(time: int):
        belief = acting[time - begin]
        assert isinstance(belief, BeliefPropagation)
        return belief.kernel_at(time)

    return BeliefPropagation(replace(first, later=tuple(later)), kernel_at)


class _PlanSearch:
    """Local search over times of plans, for several budgets of looks at once."""

    def __init__(self, mission: Mission, looks: tuple[int, ...], best: Oracle) -> None:
        self.mission, self.looks, self.best = mission, looks, best
        self.chosen = [count for count in looks if 1 < count < mission.horizon - 1]
        self.known: dict[tuple[int, ...], dict[int, float]] = {}  # plans -> looks -> least regret
        self.updates: dict[int, Rule] = {}  # the best updates by their number
        self.searched: set[int] = set()  # numbers of plans whose times were searched for

    def best_with(self, count: int) -> dict[int, LookPlanOptimum]:
        """Return the best that was found with so many plans, by budget of looks."""
        best = {}
        for looks, plans in self._search(count).items():
            best[looks] = LookPlanOptimum(self.known[plans][looks], plans, "best found")
            if looks in self._weighed(count) and (both := self._together(looks, count)) < best[looks].regret:
                best[looks] = LookPlanOptimum(both, None, "best found")
        return best

    def _weighed(self, count: int) -> tuple[int, ...]:
        """Return the budgets of looks for which the times of so many plans are searched.

        Those for which even times are worse than plans at every step; all of them, if that is so for one that
        leaves looks to choose, since one programme serves all of these.
        """
        horizon = self.mission.horizon
        if count in (1, horizon - 1):
            return ()
        even, everywhere = periodic_times(horizon, count), tuple(range(1, horizon))
        gain = self.regrets(even, self.looks) - self.regrets(everywhere, self.looks)
        matter = [looks for looks, gained in zip(self.looks, gain, strict=True) if gained > NEGLIGIBLE]
        return self.looks if set(matter) & set(self.chosen) else tuple(matter)

    def _search(self, count: int) -> dict[int, tuple[int, ...]]:
        """Return the best times found for so many plans, by budget of looks."""
        horizon, weighed = self.mission.horizon, self._weighed(count)
        self.regrets(periodic_times(horizon, count), self.looks)
        if weighed and count not in self.searched:
            self.searched.add(count)
            starts = [periodic_times(horizon, count), (1, *range(horizon - count + 1, horizon))]
            starts += self._extended(count)
            moves = partial(shifted, first=1, horizon=horizon)

            def total(plans: tuple[int, ...]) -> float:
                return float(self.regrets(plans, weighed).sum())

            start, most = min(starts, key=total), len(self.known) + SEARCHED
            climb(start, moves, total, lambda: len(self.known) >= most)
        found = [plans for plans in self.known if len(plans) == count]
        return {
            looks: min(found, key=lambda plans: self.known[plans].get(looks, np.inf)) for looks in self.looks
        }

    def _extended(self, count: int) -> Iterator[tuple[int, ...]]:
        """Yield the best of half as many plans with the others as late as possible, where they do no harm."""
        for plans in self._search(count // 2).values() if count > 2 else []:
            unused = [t for t in range(1, self.mission.horizon) if t not in plans]
            yield tuple(sorted({*plans, *unused[len(plans) - count :]}))

    def _together(self, looks: int, plans: int) -> float:
        """Return the regret of the best updates that are both, with what is left over at the end.

        They are not tried with a forecast that compares two estimates.
        """
        both = min(looks, plans)
        if both == 1 or self.mission.forecast.compares:
            return np.inf
        if both not in self.updates:
            self.updates[both] = best_feedback(self.mission.with_budget(both))
        apart = self.mission.with_budget(None, looks=looks, plans=plans)
        return regret(apart, self.updates[both], best=self.best)

    def regrets(self, plans: tuple[int, ...], looks: Sequence[int]) -> Array:
        """(L,) least regret with plans at these times, for each of these budgets of looks."""
        known = self.known.setdefault(plans, {})
        missing = [count for count in looks if count not in known]
        if set(missing) & set(self.chosen):
            best = looks_regrets(self.mission, plans, max(self.chosen))
            known |= {count: float(best[count - 1]) for count in self.chosen}
        known |= {count: self._settled(count, plans) for count in missing if count not in self.chosen}
        return np.array([known[count] for count in looks])

    def _settled(self, looks: int, plans: tuple[int, ...]) -> float:
        """Return the regret with one look, or with one at every step: there is nothing to choose."""
        apart = self.mission.with_budget(None, looks=looks, plans=len(plans))
        rule = FixedTimes(periodic_times(self.mission.horizon, looks), plans)
        return regret(apart, rule, best=self.best)


def climb(
    plans: tuple[int, ...],
    moves: Callable[[tuple[int, ...], int], Iterator[tuple[int, ...]]],
    loss: Callable[[tuple[int, ...]], float],
    exhausted: Callable[[], bool],
) -> None:
    """Take moves that lower the loss, by ever smaller strides, until none does or all tries are spent."""
    for stride in STRIDES:
        improved = True
        while improved:
            improved = False
            for moved in moves(plans, stride):
                if exhausted():
                    return
                if loss(moved) < loss(plans) - 1e-12:
                    plans, improved = moved, True
                    break


def shifted(plans: tuple[int, ...], stride: int, *, first: int, horizon: int) -> Iterator[tuple[int, ...]]:
    """Yield the plans with one of them moved by a stride, those before index `first` left where they are."""
    for i in range(first, len(plans)):
        for to in (plans[i] - stride, plans[i] + stride):
            if first < to < horizon and to not in plans:
                yield tuple(sorted({*plans[:i], *plans[i + 1 :], to}))
