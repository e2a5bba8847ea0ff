"""Replans of a robot that sees its state in measured wind: `python -m benchmarks.wind_replans [tune|test]`.

Total exact regret and mean number of replans over the suite's flights of a part, for `last-moment` and even
spacing with several budgets, and without a limit beside replanning at every step.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from replan import Rule, Spending, evaluate
from replan.schedule.fixed import FixedTimes
from replan.schedule.last_moment import LastMoment
from replan.schedule.periodic import Even
from replan.suite import suite_worlds


def totals(part: str, budget: int | None, rule: Rule) -> tuple[float, float]:
    """Return total regret and mean number of replans; a budget of None is no limit."""
    found = []
    for world in suite_worlds(part):
        if world.family == "wind":
            mission = world.mission("localised")
            spending = Spending.at_most(budget or mission.horizon - 1)
            found.append(evaluate(replace(mission, spending=spending), rule, all_starts=False))
    return sum(each.regret for each in found), sum(each.expected_updates for each in found) / len(found)


def main(part: str = "test") -> None:
    """Print the table."""
    rows = [("every step", None, FixedTimes(tuple(range(1, 30)))), ("last-moment", None, LastMoment())]
    rows += [(rule.name, budget, rule) for budget in (1, 2, 4, 8) for rule in (Even(), LastMoment())]
    for name, budget, rule in rows:
        regret, replans = totals(part, budget, rule)
        print(
            f"{name:<12} B = {budget or 'none':<5} regret {regret:7.3f}   replans {replans:5.2f}", flush=True
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
