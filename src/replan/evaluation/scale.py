"""The scale of a regret in its mission, and regret against the budget.

On the scale the oracle is at 0 and a robot that never updates at 1; between them are the best possible and
evenly spaced updates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from replan.evaluation.exact import oracle_of, regret
from replan.evaluation.optimal_schedule import Floor, feedback_regrets
from replan.evaluation.visits import ways_in_world
from replan.execute.mission import Mission, require_world
from replan.model.kernel import Array
from replan.model.reward import reward_range
from replan.planning.optimal_values import Oracle, oracle
from replan.schedule.periodic import Even
from replan.schedule.rule import Rule

NEXT_TO_NOTHING = 1e-4
"""Share of the span of the rewards: where never updating loses less, replanning makes no difference."""
ROUNDING = 1e-9
"""Regret that rounding can make."""


@dataclass(frozen=True)
class RegretScale:
    """Regrets that others on the same mission are compared with."""

    never: float
    """Regret of a robot that keeps its plan of t = 0 and never updates."""
    least: float
    """Regret that is worth counting: `NEXT_TO_NOTHING` of the span of the rewards."""
    even: float | None = None
    """Regret of the rule `even`; None where it takes long to compute."""
    best_possible: float | None = None
    """The least that any rule can have; None where it takes long to compute."""

    @classmethod
    def of_never_updating(cls, mission: Mission, *, best: Oracle) -> RegretScale:
        """Return the scale with never updating alone."""
        span = reward_range(mission.world.reward, mission.horizon)
        return cls(never_updating(mission, best=best), max(NEXT_TO_NOTHING * span, ROUNDING))

    @property
    def makes_a_difference(self) -> bool:
        """Whether replanning makes a difference: never updating loses something that is worth counting."""
        return self.never >= self.least

    def share(self, regret: float) -> float | None:
        """Return regret over that of never updating: 0 is the oracle, 1 not updating; None if equal."""
        return regret / self.never if self.makes_a_difference else None

    def words(self, regret: float) -> str:
        """Return one line that compares a regret with never updating, the best possible and even spacing."""
        share = self.share(regret)
        if not self.makes_a_difference and regret < self.least:
            return self.no_difference()
        if share is None:
            first = "a robot that never updates loses nothing worth counting here"
        else:
            first = f"{share:.0%} of what a robot that never updates loses"
        others = {"best possible": self.best_possible, "evenly spaced": self.even}
        compared = ", ".join(
            f"{name} {value:z.4f}"
            for name, value in others.items()
            if value is not None and abs(value - regret) > ROUNDING
        )
        return f"{first} ({compared})" if compared else first

    def no_difference(self) -> str:
        """Return that replanning makes no difference on a mission, and what never updating loses there."""
        return f"replanning makes no difference here (never updating loses {max(self.never, 0.0):.1g})"

    def record(self, regret: float) -> dict[str, float | None]:
        """Return the scale of one regret as plain data."""
        return {
            "best_possible": self.best_possible,
            "evenly_spaced": self.even,
            "never_updating": self.never,
            "makes_a_difference": self.makes_a_difference,
            "regret_share": self.share(regret),
        }


def regret_scale(
    mission: Mission,
    *,
    best: Oracle | None = None,
    best_possible: float | None = None,
    floor: bool = True,
) -> RegretScale:
    """Return the scale of a mission.

    With a price, or beyond `Sizes.floor`, it has never updating and what is given only.

    Parameters
    ----------
    mission : Mission
        The mission.
    best : Oracle, optional
        The oracle of its world, if it is known already.
    best_possible : float, optional
        The least regret of any rule, if it is known already.
    floor : bool
        Whether it is computed otherwise.

    Returns
    -------
    RegretScale
        Never updating, even spacing and the best possible.
    """
    require_world(mission)
    mission = mission.cropped
    best = oracle_of(mission, best)
    scale = RegretScale.of_never_updating(mission, best=best)
    if mission.spending.price is not None or not is_cheap(mission):
        return replace(scale, best_possible=best_possible)
    if floor and best_possible is None:
        best_possible = float(feedback_regrets(mission, mission.limit)[-1])
    return replace(scale, even=regret(mission, Even(), best=best), best_possible=best_possible)


def is_cheap(mission: Mission) -> bool:
    """Return whether the best possible is computed in a few seconds."""
    states, horizon, sizes = mission.world.states, mission.horizon, mission.sizes
    if mission.robot.forecast.compares or not mission.latency.instant:
        return states * horizon**2 <= sizes.shown_compared_floor
    return states * horizon <= sizes.floor


def best_objective(mission: Mission) -> float | None:
    """Return the greatest objective that a rule can have on a priced mission, None if that takes long."""
    return float(Floor(mission).objectives[-1]) if is_cheap(mission) else None


def never_updating(mission: Mission, *, best: Oracle) -> float:
    """Return the exact regret of a robot that keeps its plan of t = 0, executed as the mission says."""
    start = np.eye(1, mission.world.states, mission.world.start)[0]
    gains, _ = ways_in_world(mission).unasked(0, mission.update(0), start)
    return float(best.values[0][mission.world.start] - gains[mission.horizon])


@dataclass(frozen=True)
class BudgetCurve:
    """The exact regret of a rule for the budgets 1 to N."""

    rules: tuple[Rule, ...]
    """(N,) by budget: hyper-parameters may differ."""
    regrets: Array = field(repr=False)
    """(N,)"""
    floors: Array | None = field(repr=False)
    """(N,) the least regret that any rule can have; None where it was not asked for."""

    @property
    def worth(self) -> Array:
        """(N,) regret that one more update saves; NaN for the last budget. It can be negative."""
        return np.append(-np.diff(self.regrets), np.nan)

    def smallest_budget(self, regret: float) -> int | None:
        """Return the least budget whose regret is at most `regret`, None if there is none."""
        enough = np.flatnonzero(self.regrets <= regret)
        return int(enough[0]) + 1 if enough.size else None

    def budget_at_price(self, price: float, *, never: float = np.inf) -> int:
        """Return the budget B that maximises return - price x B; among equal ones the least.

        `never` is the regret of a robot that does not update: 0 updates, which are at no price.
        """
        regrets = np.append(never, self.regrets)
        return int(np.argmin(regrets + price * np.arange(len(regrets))))


def budget_curve(
    mission: Mission,
    rule_for: Callable[[Mission], Rule],
    *,
    most: int,
    floor: bool = True,
    best: Oracle | None = None,
) -> BudgetCurve:
    """Return the regret of a rule for every budget.

    Parameters
    ----------
    mission : Mission
        The mission, whose spending is replaced.
    rule_for : callable
        Mission -> the rule for its budget.
    most : int
        The largest budget.
    floor : bool
        Whether the least regret of any rule is computed too.
    best : Oracle, optional
        The oracle of the mission's world, if it is known already.

    Returns
    -------
    BudgetCurve
        Rules and regrets for the budgets 1 to `most`.
    """
    best = best or oracle(mission.world)
    limits = range(most, 0, -1)  # the largest first: it fills the caches
    spending = [mission.with_spending(mission.spending.as_budget(limit)) for limit in limits]
    rules = [rule_for(each) for each in spending]
    regrets = [regret(each, rule, best=best) for each, rule in zip(spending, rules, strict=True)]
    floors = feedback_regrets(mission, most) if floor else None
    return BudgetCurve(tuple(reversed(rules)), np.array(regrets[::-1]), floors)
