"""Regret against the budget: how many updates a mission needs, and what one more is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from replan.evaluation.exact import regret
from replan.evaluation.optimal_schedule import feedback_regrets
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.planning.backward_induction import Oracle, oracle
from replan.schedule.rule import Rule


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
    """Return the regret of `rule_for(mission)` for every budget from 1 to `most`."""
    best = best or oracle(mission.world)
    limits = range(most, 0, -1)  # the largest first: it fills the caches
    spending = [mission.with_spending(mission.spending.as_budget(limit)) for limit in limits]
    rules = [rule_for(each) for each in spending]
    regrets = [regret(each, rule, best=best) for each, rule in zip(spending, rules, strict=True)]
    floors = feedback_regrets(mission, most) if floor else None
    return BudgetCurve(tuple(reversed(rules)), np.array(regrets[::-1]), floors)
