"""One setting of the page as plain data: drift, decisions, paths, regret by budget and cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite, nan
from typing import Any

from replan import (
    Decision,
    Mission,
    Rule,
    Setting,
    Spending,
    World,
    decompose,
    make_mission,
    oracle,
    regret,
    run_agent,
)
from replan.evaluation.agent_runs import AgentRun
from replan.evaluation.optimal_schedule import feedback_regrets
from replan.evaluation.rollouts import draws_times
from replan.evaluation.scale import never_updating
from replan.planning.optimal_values import Oracle
from replan.report.world_drawing import CELL, GridDrawing, legend_html
from replan.schedule.periodic import Even
from replan.study.placement import fast_drift_intervals
from replan.typing import Execution
from replan.worlds.estimators import ESTIMATORS, EXACT_ESTIMATORS, TRUE_KERNEL
from replan.worlds.mars_rover import Rover

LARGEST_BUDGET = 8  # of the curve of regret against budget, unless the setting's own is larger
AFFORDABLE_STATES = 1_000  # beyond this, no budgets and causes on the page
SEED = 0  # of the mission that is shown

Causes = Mapping[str, Mapping[str, float]]  # regret by cause (`Decomposition.parts`), of each rule


@dataclass(frozen=True)
class Shown:
    """A rule as it is run."""

    rule: Rule
    execution: Execution = "map"
    estimator: str = TRUE_KERNEL

    def trace(self, mission: Mission) -> AgentRun:
        """Run the mission that is shown."""
        return run_agent(
            _acting(mission, self.execution),
            self.rule,
            seed=SEED,
            estimator=ESTIMATORS[self.estimator](mission),
        )


@dataclass(frozen=True)
class KnownResults:
    """Results on a setting that are not computed again."""

    causes: Causes = field(default_factory=dict)
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Regret for the budgets 1, 2, ... of a robot that acts by the likeliest cell, by rule."""


def setting_view(
    name: str, setting: Setting, shown: Mapping[str, Shown], known: KnownResults | None = None
) -> dict[str, Any]:
    """Return the data of one setting's charts."""
    known = known or KnownResults()
    executions: list[Execution] = [each.execution for each in shown.values()] or ["map"]
    mission = make_mission(setting, execution=executions[0])  # a budget may not fit another one
    exact = {label: each for label, each in shown.items() if each.estimator in EXACT_ESTIMATORS}
    affordable = mission.world.states <= AFFORDABLE_STATES and exact
    best = oracle(mission.world) if affordable else None
    return {
        "name": name,
        "horizon": mission.horizon,
        "budget": mission.spending.limit,
        "ties": setting.ties,
        "slip": _numbers(setting.drift.profile(mission.horizon)) if isinstance(setting, Rover) else None,
        "drift": _numbers(mission.world.drift_bounds),
        "fast": [list(interval) for interval in fast_drift_intervals(mission.world.drift_bounds)],
        "rules": {label: _rule_view(each.trace(mission)) for label, each in shown.items()},
        "grid": _grid(mission.world),
        "budgets": _budgets(mission, exact, best, known) if best else None,
        "parts": [
            {"rule": label, **part} for label, part in _causes(mission, exact, best, known.causes).items()
        ],
    }


def _acting(mission: Mission, execution: Execution) -> Mission:
    return replace(mission, robot=replace(mission.robot, execution=execution))


def _rule_view(trace: AgentRun) -> dict[str, Any]:
    """Return update times with reasons, the score of every decision, and the states."""
    scored = [(t, d) for t, d in trace.decisions if d.terms and d.threshold is not None]
    reasons = {t: decision.reason for t, decision in trace.decisions if decision.update}
    return {
        "times": list(trace.times),
        "reasons": [reasons.get(t, "") for t in trace.times],
        "score": _score(scored),
        "states": trace.states.tolist(),
        "believed": trace.believed.tolist(),
    }


def _score(scored: Sequence[tuple[int, Decision]]) -> dict[str, Any] | None:
    if not scored:
        return None
    terms = [decision.terms for _, decision in scored]
    names = dict.fromkeys(name for each in terms for name in each)
    return {
        "times": [t for t, _ in scored],
        "terms": {
            name: _numbers(each.get(name, nan) for each in terms)
            for name in names
            if any(each.get(name) for each in terms)
        },
        "thresholds": _numbers(decision.threshold for _, decision in scored),
    }


def _grid(world: World) -> dict[str, Any] | None:
    """Return the drawing of the world and its legend; None if its states are not cells."""
    ground = GridDrawing.of(world)
    if ground is None:
        return None
    return {
        "rows": ground.rows,
        "columns": ground.columns,
        "cell": CELL,
        "ground": ground.svg(),
        "legend": legend_html(ground),
    }


def _budgets(
    mission: Mission, shown: Mapping[str, Shown], best: Oracle, known: KnownResults
) -> dict[str, Any]:
    """Return exact regret for each budget: evenly spaced, regret-guided as chosen, and the best possible.

    One execution only, that of the first rule. Curves that are known are those of the likeliest cell.
    """
    execution = next(iter(shown.values())).execution
    mission = _acting(mission, execution)
    largest = min(max(LARGEST_BUDGET, mission.spending.limit or 0), mission.spending.room(mission.horizon))
    budgets = range(1, largest + 1)
    compared: dict[str, Rule] = {Even.name: Even()}
    compared |= {
        label: each.rule
        for label, each in shown.items()
        if each.rule.name == "regret-guided" and each.execution == execution
    }
    spending = [mission.with_spending(Spending.exactly(budget)) for budget in budgets]
    curves = {
        label: _numbers(regret(each, rule, best=best) for each in spending)
        for label, rule in compared.items()
    }
    if execution == "map":
        curves |= {rule: _numbers(curve[:largest]) for rule, curve in known.curves.items()}
    curves["best possible"] = _numbers(feedback_regrets(mission, largest))
    never = float(never_updating(mission, best=best))
    return {"budgets": list(budgets), "curves": curves, "never": never, "execution": execution}


def _causes(mission: Mission, shown: Mapping[str, Shown], best: Oracle | None, known: Causes) -> Causes:
    """Return the regret of each rule by its cause, which is known for a robot that expects no change.

    Rules that draw their times take long and are left out.
    """
    found: dict[str, Mapping[str, float]] = {}
    for label, each in shown.items() if not mission.robot.forecast.moves else ():
        if label in known:
            found[label] = known[label]
        elif best is not None and not draws_times(mission, each.rule):
            found[label] = decompose(_acting(mission, each.execution), each.rule, best=best).parts
    return found | dict(known)


def _numbers(values) -> list[float | None]:
    """Return numbers with six digits; None, a gap in a chart, if a value is not finite."""
    return [float(f"{value:.6g}") if isfinite(value) else None for value in values]
