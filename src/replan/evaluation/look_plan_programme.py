"""Looks and plans that are both chosen by the states seen, exactly, on small worlds.

A dynamic programme over (time, last look, state seen there, plans in force since, looks left, plans left);
its size grows as the number of sets of plan times. With budgets both are spent exactly, the first of each
at 1; with prices looks and plans are paid for, none is forced, and budgets are limits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb
from typing import Any

import numpy as np

from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.schedule.budget import FIRST_UPDATE, Kind, Prices
from replan.skip.propagation import Propagation, continue_interval

NODES = 20_000
"""Sets of plans, times and budgets left up to which the programme is solved."""
TIED = 1e-12
"""Values that differ by less are equal: then the fewest looks and plans are made."""


@dataclass(frozen=True)
class BestOfBoth:
    """The best way to look and plan by the states seen, from the mission's start state."""

    objective: float
    """Expected return minus the price of looks and plans."""
    updates: float
    """Expected number of times with a look or a plan."""
    looks: float
    """Expected number of looks."""
    plans: float
    """Expected number of plans."""


def best_of_both(mission: Mission, *, nodes: int = NODES) -> BestOfBoth | None:
    """Return the best of all ways to look and plan by the states seen, None on larger worlds."""
    if mission.forecast.compares or programme_size(mission) > nodes:
        return None
    return BestOfBoth(*_Programme(mission).value().tolist())


def programme_size(mission: Mission) -> int:
    """Return the number of last looks, plans in force then, sets of plans since and times, all together.

    Of the plans in force that of t = 0 is counted at the start alone.
    """
    total, most = 0, mission.config.budgets[1]
    for look in range(FIRST_UPDATE if mission.prices is None else 0, mission.horizon):
        later = mission.horizon - 1 - look
        total += max(look, 1) * (later + 1) * sum(comb(later, count) for count in range(min(most, later) + 1))
    return total


@dataclass(frozen=True, eq=False)
class _Programme:
    """Values of robots by what they have seen and planned; one array serves all states of the last look.

    Values are (S, 4): the objective, and the expected numbers of updates, looks and plans behind it.
    """

    mission: Mission
    known: dict[tuple, Array] = field(default_factory=dict)
    steps: dict[tuple, tuple[Array, Any, Array]] = field(default_factory=dict)

    def value(self) -> Array:
        """(4,) the value of the best way from the start."""
        start, (looks, plans) = self.mission.world.start, self.mission.config.budgets
        if self.mission.prices is not None:
            return self.acted(0, 0, (0,), looks, plans)[start]
        gain, _, arrival = self.step(0, (0,), 0)
        first = self.acted(FIRST_UPDATE, FIRST_UPDATE, (FIRST_UPDATE,), looks - 1, plans - 1)
        return np.array([gain[start], 1.0, 1.0, 1.0]) + arrival[start] @ first

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
        """(S, 4) values from `time` on of robots that have decided at `time`."""
        key = time, look, plans, looks_left, plans_left
        if key not in self.known:
            gain, _, after = self.step(look, plans, time)
            value = np.zeros((len(gain), 4))
            if time + 1 < self.mission.horizon:
                value = self.decided(time + 1, look, plans, looks_left, plans_left, after)
            value[:, 0] += gain
            self.known[key] = value
        return self.known[key]

    def decided(
        self, time: int, look: int, plans: tuple[int, ...], looks_left: int, plans_left: int, places: Array
    ) -> Array:
        """(S, 4) the best values from `time` on, at which robots are distributed as (S, S) `places`."""
        best = np.full((len(places), 4), -np.inf)
        later, prices = self.mission.horizon - time - 1, self.mission.prices or Prices()
        for kind in (Kind(0), Kind.LOOK, Kind.PLAN, Kind.BOTH):
            looked, planned = Kind.LOOK in kind, Kind.PLAN in kind
            left = looks_left - looked, plans_left - planned
            if min(left) < 0 or (self.mission.config.must_spend and max(left) > later):
                continue
            if not self.mission.config.must_spend:
                left = min(left[0], later), min(left[1], later)
            if looked:
                value = places @ self.acted(time, time, (time if planned else plans[-1],), *left)
            else:
                value = self.acted(time, look, (*plans, time) if planned else plans, *left)
            value = value + np.array([-prices.paid(looked, planned), looked or planned, looked, planned])
            best = np.where(value[:, :1] > best[:, :1] + TIED, value, best)
        return best
