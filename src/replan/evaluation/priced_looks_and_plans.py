"""The greatest objective where looks and plans have prices of their own.

On small worlds looks and plans are both chosen by the states seen, exactly
(`replan.evaluation.look_plan_programme`). Elsewhere plans are at fixed times that a local search finds, with
the best looks for them by dynamic programme; or updates that are both, if these do better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from replan.evaluation.look_plan_optimum import SEARCHED, climb, propagation_of, shifted
from replan.evaluation.look_plan_programme import NODES, BestOfBoth, best_of_both
from replan.evaluation.optimal_schedule import BestFeedback, Optimum, feedback, optimum
from replan.evaluation.visited_steps import Robots, UpdateTimes, row_blocks, visits
from replan.execute.config import Progress
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.planning.backward_induction import oracle_return
from replan.schedule.budget import FIRST_UPDATE, Prices
from replan.schedule.periodic import periodic_times
from replan.schedule.update_programme import Programme
from replan.skip.propagation import Propagation, skip_interval

EVEN = (1, 2, 4, 8)
"""Numbers of evenly spaced plans from which the search starts, beside none and one at every step."""


@dataclass(frozen=True)
class PricedOptimum:
    """The greatest objective with looks and plans apart, from the mission's start state."""

    oracle_return: float
    """Expected return of the oracle."""
    prices: Prices
    """Prices of a look and a plan."""
    best: BestOfBoth
    """Its objective, and how many looks and plans it makes."""
    plan_times: tuple[int, ...] | None
    """Times of the plans; None where they are chosen by the states seen."""
    label: Literal["optimal", "best found"]
    """`optimal`: nothing does better. `best found`: the best looks for plans at times that a search finds, or
    updates that are both."""

    @property
    def regret(self) -> float:
        """Regret, without the prices."""
        paid = self.prices.paid(self.best.looks, self.best.plans)
        return self.oracle_return - self.best.objective - paid


def priced_optimum(mission: Mission, *, together: Optimum | None = None, nodes: int = NODES) -> PricedOptimum:
    """Return the optimum of a mission where looks and plans have prices, and budgets if any are limits.

    `together` is the optimum of updates that are both, where it is known already. Above so many `nodes` of
    the exact programme plans are searched for.
    """
    assert mission.prices is not None
    world, prices = mission.world, mission.prices
    most = float(oracle_return(world)[world.start])
    if (exact := best_of_both(mission, nodes=nodes)) is not None:
        return PricedOptimum(most, prices, exact, None, "optimal")
    together = together or updates_optimum(mission)
    updates = together.feedback_updates
    both = BestOfBoth(float(together.feedback_objective), updates, updates, updates)
    search = _PlanSearch(mission)
    plans = search.best_plans(together.fixed_times)
    if search.objective(plans) <= both.objective:
        return PricedOptimum(most, prices, both, None, "best found")
    return PricedOptimum(most, prices, search.best_with(plans), plans, "best found")


def updates_optimum(mission: Mission) -> Optimum:
    """Return the optimum of updates that are both a look and a plan."""
    budget = min(mission.config.budgets) if mission.apart else mission.budget
    return optimum(mission.with_budget(budget, prices=mission.prices))


class _PlanSearch:
    """Local search over sets of plan times, each with the best looks for it."""

    def __init__(self, mission: Mission) -> None:
        assert mission.prices is not None
        looks, self.most = mission.config.budgets
        self.price, unlimited = mission.prices.plan, mission.budget is None and not mission.apart
        looking = Prices(look=mission.prices.look)
        self.looking = mission.with_budget(None if unlimited else looks, prices=looking)
        self.known: dict[tuple[int, ...], float] = {}

    def best_plans(self, *starts: tuple[int, ...]) -> tuple[int, ...]:
        """Return the best plan times that a climb from the best of these and of even ones finds."""
        horizon = self.looking.horizon
        tried = [(), tuple(range(1, horizon)), *starts]
        tried += [periodic_times(horizon, count) for count in EVEN if count < horizon]
        allowed = [plans for plans in tried if len(plans) <= self.most]
        most = len(self.known) + len(allowed) + SEARCHED
        start = max(allowed, key=self.objective)
        climb(start, self._moves, lambda plans: -self.objective(plans), lambda: len(self.known) >= most)
        return max(self.known, key=self.known.__getitem__)

    def _moves(self, plans: tuple[int, ...], stride: int) -> Iterator[tuple[int, ...]]:
        """Yield the plans with one left out, moved, or added at a multiple of the stride."""
        horizon = self.looking.horizon
        yield from (plans[:i] + plans[i + 1 :] for i in range(len(plans)))
        yield from shifted(plans, stride, first=0, horizon=horizon)
        if len(plans) < self.most:
            yield from (tuple(sorted({*plans, t})) for t in range(stride, horizon, stride) if t not in plans)

    def objective(self, plans: tuple[int, ...]) -> float:
        """Return the objective of the best looks for plans at these times."""
        if plans not in self.known:
            value = self._solved(plans)[1].best[0, -1]
            self.known[plans] = float(value) - self.price * len(plans)
        return self.known[plans]

    def best_with(self, plans: tuple[int, ...]) -> BestOfBoth:
        """Return the best looks for plans at these times, and how many there are."""
        looks = look_probabilities(self.looking, *self._solved(plans))
        updates = looks.sum() - looks[list(plans)].sum() + len(plans)
        return BestOfBoth(self.objective(plans), float(updates), float(looks.sum()), float(len(plans)))

    def _solved(self, plans: tuple[int, ...]) -> tuple[Propagation, Programme]:
        mission, acting = self.looking, propagation_of(self.looking, (0, *plans))
        start = np.array([mission.world.start])
        return acting, feedback(mission, start, with_later=True, acting_from=lambda time: acting)


def look_probabilities(mission: Mission, acting: Propagation, programme: Programme) -> Array:
    """(T,) probability of a look at each time, where robots look by a programme from the start on."""
    world, found = mission.world, np.zeros(mission.horizon)

    def robots(progress: Progress, mass: Array) -> Iterator[Robots]:
        for rows in row_blocks(mass):
            begin = progress.last_update
            steps = partial(skip_interval, world.kernel, world.reward, acting, rows, begin=begin)
            yield rows, mass[rows], lambda end, steps=steps: steps(end=end)

    for progress, step, share in visits(UpdateTimes(mission, BestFeedback(programme, mission)), robots):
        if step.time == progress.last_update >= FIRST_UPDATE:
            found[step.time] += share.sum()
    return found
