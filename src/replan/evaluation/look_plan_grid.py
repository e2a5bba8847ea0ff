"""Regret against budgets of looks and plans: what a look is worth, what a plan, and their exchange rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from replan.evaluation.exact import regret
from replan.evaluation.look_plan_optimum import LookPlanOptimum, look_plan_floors
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.planning.backward_induction import Oracle, oracle
from replan.schedule.rule import Rule


@dataclass(frozen=True)
class LookPlanGrid:
    """The exact regret of a rule for every pair of budgets, and the least that was found."""

    looks: tuple[int, ...]
    """(L,) budgets of looks."""
    plans: tuple[int, ...]
    """(P,) budgets of plans."""
    rules: tuple[Rule, ...] = field(repr=False)
    """(L * P,) row by row: hyper-parameters may differ."""
    regrets: Array = field(repr=False)
    """(L, P)"""
    optima: dict[tuple[int, int], LookPlanOptimum] | None = field(default=None, repr=False)
    """By looks and plans; None where they were not asked for."""

    @property
    def floors(self) -> Array | None:
        """(L, P) the least regret that was found."""
        if self.optima is None:
            return None
        return np.array([[self.optima[looks, plans].regret for plans in self.plans] for looks in self.looks])

    @property
    def plans_per_look(self) -> Array:
        """(L - 1, P - 1) how many plans save as much as a look does; infinite where a plan saves nothing."""
        look = self.regrets[:-1, :-1] - self.regrets[1:, :-1]
        plan = self.regrets[:-1, :-1] - self.regrets[:-1, 1:]
        return np.divide(look, plan, out=np.full_like(look, np.inf), where=plan > 0)


def look_plan_grid(
    mission: Mission,
    rule_for: Callable[[Mission], Rule],
    looks: Sequence[int],
    plans: Sequence[int],
    *,
    floor: bool = True,
    best: Oracle | None = None,
) -> LookPlanGrid:
    """Return the regret of `rule_for(mission)` for every pair of these budgets."""
    best = best or oracle(mission.world)
    missions = [mission.with_budget(None, looks=look, plans=plan) for look in looks for plan in plans]
    rules = tuple(rule_for(each) for each in missions)
    regrets = [regret(each, rule, best=best) for each, rule in zip(missions, rules, strict=True)]
    optima = look_plan_floors(mission, looks, plans, best=best) if floor else None
    shape = len(looks), len(plans)
    return LookPlanGrid(tuple(looks), tuple(plans), rules, np.reshape(regrets, shape), optima)
