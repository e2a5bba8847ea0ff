"""The least regret where looks and plans have budgets of their own.

Between two looks the estimate follows from the state seen at the first of them and the plans since. With
plans at given times the best looks are therefore a dynamic programme as for updates (`looks_regrets`), and
times of plans are found by local search over it (`look_plan_floors`). On small worlds looks and plans are
both chosen by the states seen, exactly (`exact_regret`): a programme over (last look, state seen there, plans
since, looks left, plans left), whose size grows as the number of sets of plan times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import comb
from typing import Any, Literal

import numpy as np

from replan.evaluation.exact import regret
from replan.evaluation.optimal_schedule import best_feedback, feedback_regrets
from replan.execute.config import Update
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.planning.backward_induction import Oracle, oracle
from replan.schedule.budget import FIRST_UPDATE, Kind
from replan.schedule.fixed import FixedTimes
from replan.schedule.periodic import periodic_times
from replan.schedule.rule import Rule
from replan.skip.propagation import BeliefPropagation, MapPropagation, Propagation, continue_interval

NODES = 20_000
"""Sets of plans, times and budgets left up to which the exact programme is solved."""
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
    search = _PlanSearch(mission, tuple(looks), best)
    found: dict[tuple[int, int], LookPlanOptimum] = {}
    for count in plans:
        apart = {look: mission.with_budget(None, looks=look, plans=count) for look in looks}
        exact = {look: exact_regret(each, best=best) for look, each in apart.items()}
        if None in exact.values():
            found |= {(look, count): each for look, each in search.best_with(count).items()}
        else:
            found |= {(look, count): LookPlanOptimum(exact[look] or 0.0, None, "optimal") for look in looks}
    return found


def looks_regrets(mission: Mission, plans: tuple[int, ...], largest: int) -> Array:
    """(L,) least regret of 1 to `largest` looks chosen by the state just seen, with plans at these times."""
    acting = propagation_of(mission, plans)
    return feedback_regrets(mission, largest, acting_from=lambda time: acting)


def propagation_of(mission: Mission, plans: tuple[int, ...]) -> Propagation:
    """Return how a robot acts that plans at these times, the first of them 1."""
    made = {time: mission.update(time, before) for before, time in pairwise((0, *plans))}
    in_force: list[Update] = []
    for t in range(FIRST_UPDATE, mission.horizon):
        in_force.append(made[t] if t in made else in_force[-1])
    times = range(FIRST_UPDATE, mission.horizon)
    acting = [update.propagation for update in in_force]
    if all(isinstance(each, MapPropagation) for each in acting):
        maps = [each for each in acting if isinstance(each, MapPropagation)]
        rows = [(each, each.row(t)) for t, each in zip(times, maps, strict=True)]
        policy = np.stack([each.policy[row] for each, row in rows])
        return MapPropagation(FIRST_UPDATE, policy, tuple(each.kernels[row] for each, row in rows))
    first, *later = (update.plan.at(t) for t, update in zip(times, in_force, strict=True))

    def kernel_at(time: int):
        belief = acting[time - FIRST_UPDATE]
        assert isinstance(belief, BeliefPropagation)
        return belief.kernel_at(time)

    return BeliefPropagation(replace(first, later=tuple(later)), kernel_at)


class _PlanSearch:
    """Local search over times of plans, for several budgets of looks at once."""

    def __init__(self, mission: Mission, looks: tuple[int, ...], best: Oracle) -> None:
        self.mission, self.looks, self.best = mission, looks, best
        self.known: dict[tuple[int, ...], Array] = {}
        self.updates: dict[int, Rule] = {}  # the best updates by their number
        self.searched: set[int] = set()  # numbers of plans whose times were searched for

    def best_with(self, count: int) -> dict[int, LookPlanOptimum]:
        """Return the best that was found with so many plans, by budget of looks."""
        best = {}
        for looks, plans in zip(self.looks, self._search(count), strict=True):
            found = float(self.regrets(plans)[self.looks.index(looks)])
            best[looks] = LookPlanOptimum(found, plans, "best found")
            if self._matters(count) and (together := self._together(looks, count)) < found:
                best[looks] = LookPlanOptimum(together, None, "best found")
        return best

    def _matters(self, count: int) -> bool:
        """Return whether times of plans can be chosen, and even ones are worse than plans at every step."""
        horizon = self.mission.horizon
        if count in (1, horizon - 1):
            return False
        even, everywhere = periodic_times(horizon, count), tuple(range(1, horizon))
        return bool((self.regrets(even) > self.regrets(everywhere) + NEGLIGIBLE).any())

    def _search(self, count: int) -> list[tuple[int, ...]]:
        """Return the best times found for so many plans, for each budget of looks."""
        horizon = self.mission.horizon
        self.regrets(periodic_times(horizon, count))
        if self._matters(count) and count not in self.searched:
            self.searched.add(count)
            starts = [periodic_times(horizon, count), (1, *range(horizon - count + 1, horizon))]
            starts += self._extended(count)
            self._climb(min(starts, key=self._total), len(self.known) + SEARCHED)
        found = {plans: regrets for plans, regrets in self.known.items() if len(plans) == count}
        return [min(found, key=lambda plans: found[plans][column]) for column in range(len(self.looks))]

    def _extended(self, count: int) -> Iterator[tuple[int, ...]]:
        """Yield the best of half as many plans with the others as late as possible, where they do no harm."""
        for plans in self._search(count // 2) if count > 2 else []:
            unused = [t for t in range(1, self.mission.horizon) if t not in plans]
            yield tuple(sorted({*plans, *unused[len(plans) - count :]}))

    def _together(self, looks: int, plans: int) -> float:
        """Return the regret of the best updates that are both, with what is left over at the end."""
        both = min(looks, plans)
        if both == 1:
            return np.inf
        if both not in self.updates:
            self.updates[both] = best_feedback(self.mission.with_budget(both))
        apart = self.mission.with_budget(None, looks=looks, plans=plans)
        return regret(apart, self.updates[both], best=self.best)

    def regrets(self, plans: tuple[int, ...]) -> Array:
        """(L,) least regret with plans at these times, for each budget of looks."""
        if plans not in self.known:
            self.known[plans] = self._regrets(plans)
        return self.known[plans]

    def _regrets(self, plans: tuple[int, ...]) -> Array:
        last = self.mission.horizon - 1
        chosen = [looks for looks in self.looks if 1 < looks < last]
        by_looks = looks_regrets(self.mission, plans, max(chosen)) if chosen else np.empty(0)
        return np.array(
            [by_looks[looks - 1] if looks in chosen else self._settled(looks, plans) for looks in self.looks]
        )

    def _settled(self, looks: int, plans: tuple[int, ...]) -> float:
        """Return the regret with one look, or with one at every step: there is nothing to choose."""
        apart = self.mission.with_budget(None, looks=looks, plans=len(plans))
        rule = FixedTimes(periodic_times(self.mission.horizon, looks), plans)
        return regret(apart, rule, best=self.best)

    def _total(self, plans: tuple[int, ...]) -> float:
        return float(self.regrets(plans).sum())

    def _climb(self, plans: tuple[int, ...], most: int) -> None:
        """Move one plan at a time, by ever smaller distances, as long as this helps."""
        for stride in STRIDES:
            improved = True
            while improved:
                improved = False
                for moved in self._moves(plans, stride):
                    if len(self.known) >= most:
                        return
                    if self._total(moved) < self._total(plans) - 1e-12:
                        plans, improved = moved, True
                        break

    def _moves(self, plans: tuple[int, ...], stride: int) -> Iterator[tuple[int, ...]]:
        for i in range(1, len(plans)):
            for to in (plans[i] - stride, plans[i] + stride):
                if 1 < to < self.mission.horizon and to not in plans:
                    yield tuple(sorted({*plans[:i], *plans[i + 1 :], to}))


def exact_regret(mission: Mission, *, best: Oracle | None = None, nodes: int = NODES) -> float | None:
    """Return the least regret of all ways to look and plan by the states seen, None on larger worlds."""
    if mission.forecast.compares or programme_size(mission) > nodes:
        return None
    best = best or oracle(mission.world)
    return float(best.values[0][mission.world.start]) - _Programme(mission).value()


def programme_size(mission: Mission) -> int:
    """Return a bound on the numbers of last looks, plans in force then, sets of plans since and times."""
    total, most = 0, mission.config.budgets[1]
    for look in range(FIRST_UPDATE, mission.horizon):
        later = mission.horizon - 1 - look
        total += look * (later + 1) * sum(comb(later, count) for count in range(min(most, later) + 1))
    return total


@dataclass(frozen=True, eq=False)
class _Programme:
    """Values of robots by what they have seen and planned; one array serves all states of the last look."""

    mission: Mission
    known: dict[tuple, Array] = field(default_factory=dict)
    steps: dict[tuple, tuple[Array, Any, Array]] = field(default_factory=dict)

    def value(self) -> float:
        """Return the expected return of the best way from the start."""
        mission = self.mission
        looks, plans = mission.config.budgets
        gain, _, arrival = self.step(0, (0,), 0)
        start = mission.world.start
        first = self.acted(FIRST_UPDATE, FIRST_UPDATE, (FIRST_UPDATE,), looks - 1, plans - 1)
        return float(gain[start] + arrival[start] @ first)

    def step(self, look: int, plans: tuple[int, ...], time: int) -> tuple[Array, Any, Array]:
        """(S,) reward of the step at `time`, the estimate at it and (S, S) where it leads.

        Of robots that looked at `look` in each of the states, with the plans in force since.
        """
        key = look, plans, time
        if key not in self.steps:
            world, acting = self.mission.world, self.propagation(plans[-1])
            if time == look:
                before, estimate = np.eye(world.states), acting.begin(np.arange(world.states))
            else:
                earlier = plans[: len(plans) - (plans[-1] == time)]
                _, known, before = self.step(look, earlier, time - 1)
                blind = self.propagation(earlier[-1])
                estimate = blind.advance(known, blind.act(known, time - 1), time - 1)
            (made,) = continue_interval(
                world.kernel, world.reward, acting, before, estimate, begin=time, end=time + 1
            )
            self.steps[key] = made.reward, estimate, made.after
        return self.steps[key]

    def propagation(self, plan: int) -> Propagation:
        """Return how robots act after a plan."""
        return self.mission.update(plan).propagation

    def acted(self, time: int, look: int, plans: tuple[int, ...], looks_left: int, plans_left: int) -> Array:
        """(S,) return from `time` on of robots that have decided at `time`."""
        key = time, look, plans, looks_left, plans_left
        if key not in self.known:
            gain, _, after = self.step(look, plans, time)
            self.known[key] = gain
            if time + 1 < self.mission.horizon:
                self.known[key] = gain + self.decided(time + 1, look, plans, looks_left, plans_left, after)
        return self.known[key]

    def decided(
        self, time: int, look: int, plans: tuple[int, ...], looks_left: int, plans_left: int, places: Array
    ) -> Array:
        """(S,) the best return from `time` on, at which robots are distributed as (S, S) `places`."""
        best = np.full(len(places), -np.inf)
        later = self.mission.horizon - time - 1
        for kind in (Kind(0), Kind.LOOK, Kind.PLAN, Kind.BOTH):
            left = looks_left - (Kind.LOOK in kind), plans_left - (Kind.PLAN in kind)
            if min(left) < 0 or max(left) > later:
                continue
            plan = time if Kind.PLAN in kind else plans[-1]
            if Kind.LOOK in kind:
                value = places @ self.acted(time, time, (plan,), *left)
            else:
                since = (*plans, time) if Kind.PLAN in kind else plans
                value = self.acted(time, look, since, *left)
            best = np.maximum(best, value)
        return best
