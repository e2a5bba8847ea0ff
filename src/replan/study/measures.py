"""The measurements of a study: what is computed of one rule on one mission, by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import isfinite
from typing import Any

import numpy as np

from replan.certificates.certificate import Tightening, certify
from replan.certificates.in_advance import certify_ahead
from replan.certificates.legs import times_taken
from replan.certificates.regret_bound import theorem
from replan.estimate.drift_bounds import MISSPECIFICATIONS
from replan.evaluation.agent_runs import learned_returns, run_agent
from replan.evaluation.decomposition import decompose
from replan.evaluation.exact import all_returns, evaluate
from replan.evaluation.exact import regret as exact_regret
from replan.evaluation.optimal_schedule import optimum
from replan.evaluation.placement import Interval, measure_placement, top_quartile_intervals
from replan.evaluation.rollouts import rollout, sampled_regret
from replan.evaluation.scale import never_updating
from replan.execute.mission import Mission
from replan.execute.timeline import make_timeline
from replan.model.kernel import Array, Indices
from replan.schedule.rule import Decision, Need, Rule
from replan.study.candidates import distinct_schedules
from replan.study.cells import Cell, canonical
from replan.study.estimators import ESTIMATORS, TRUE_KERNEL
from replan.study.protocol import Bench, bootstrap_interval
from replan.worlds.mars_rover import PiecewiseDrift, Rover
from replan.worlds.settings import Setting, make_mission, parse_setting

BOXES = Tightening(both_ends=False, one_kernel=False, structure=False)

Values = dict[str, Any]  # columns of the store's `results`


@dataclass(frozen=True)
class Stage(Bench):
    """A mission with what all cells of its setting and execution share; a worker keeps the last few."""

    setting: Setting

    @cached_property
    def held_out_returns(self) -> Callable[[int, int], Array]:
        """The oracle's returns on `count` seeds from `first` on."""
        return lru_cache(maxsize=2)(lambda first, count: self.oracle_returns(np.arange(first, first + count)))

    @cached_property
    def never(self) -> float:
        """The regret of a robot that never updates."""
        return never_updating(self.mission, best=self.best)

    @cached_property
    def stated(self) -> Callable[[str], Mission]:
        """The mission with its stated drift bounds replaced by that misspecification of them."""
        return lru_cache(maxsize=4)(lambda bounds: with_stated_bounds(self.mission, bounds))


@lru_cache(maxsize=4)
def stage_of(setting: str, execution: str) -> Stage:
    """Return the stage of a setting in JSON."""
    parsed = parse_setting(json.loads(setting))
    return Stage(make_mission(parsed, execution=execution), parsed)  # pyright: ignore[reportArgumentType]


def with_stated_bounds(mission: Mission, bounds: str) -> Mission:
    """Return the mission with its stated drift bounds replaced; "right" changes nothing."""
    if bounds == "right":
        return mission
    stated = np.asarray(MISSPECIFICATIONS[bounds](mission.world.drift_bounds))
    return replace(mission, world=replace(mission.world, stated_bounds=stated))


@dataclass(frozen=True)
class Trial:
    """A rule on a mission, to be measured."""

    cell: Cell
    stage: Stage
    rule: Rule
    mission: Mission = field(repr=False)

    @property
    def seeds(self) -> Indices:
        """(N,)."""
        first, count = self.cell.seeds
        return np.arange(first, first + count)

    @cached_property
    def returns(self) -> Array:
        """(N,) by rollouts side by side, or where the agent learns from what it sees mission by mission."""
        if self.cell.estimator == TRUE_KERNEL:
            return rollout(self.mission, self.rule, self.seeds).returns
        return learned_returns(self.mission, self.rule, ESTIMATORS[self.cell.estimator], self.seeds)

    @cached_property
    def regrets(self) -> Array:
        """(N,) the oracle's return minus the rule's, paired."""
        return self.stage.held_out_returns(*self.cell.seeds) - self.returns

    @cached_property
    def decisions(self) -> Sequence[tuple[int, Decision]]:
        """Every decision of the first seed."""
        seed = self.cell.seeds[0]
        if self.cell.estimator == TRUE_KERNEL and Need.STATE not in self.rule.needs:
            return make_timeline(self.mission, self.rule, seed=seed).decisions
        estimator = ESTIMATORS[self.cell.estimator](self.mission)
        return run_agent(self.mission, self.rule, seed=seed, estimator=estimator).decisions


def high_drift_intervals(setting: Setting, mission: Mission) -> list[Interval]:
    """Return the configured bursts, else the intervals of greatest drift."""
    if isinstance(setting, Rover) and isinstance(setting.drift, PiecewiseDrift):
        return setting.drift.intervals(mission.horizon)
    return top_quartile_intervals(mission.world.drift_bounds)


def _exact(trial: Trial) -> Values:
    if trial.mission.spending.price is None:
        return {"exact_regret": exact_regret(trial.mission, trial.rule, best=trial.stage.best)}
    exact = evaluate(trial.mission, trial.rule, best=trial.stage.best, all_starts=False)
    return {
        "exact_regret": exact.regret,
        **_spent(exact.oracle_return, exact.expected_updates, exact.objective),
    }


def _spent(oracle_return: float, updates: float, objective: float) -> Values:
    """Return the columns of a mission with prices."""
    return {
        "expected_updates": updates,
        "objective": objective,
        "priced_regret": oracle_return - objective,
    }


def _dynamic(trial: Trial) -> Values:
    gaps = trial.stage.best.values[0] - all_returns(trial.mission, trial.rule)
    return {"dynamic_regret": trial.mission.world.worst(gaps)}


def _sampled(trial: Trial) -> Values:
    sampled = sampled_regret(trial.stage.held_out_returns(*trial.cell.seeds), trial.returns)
    values: Values = {
        "samples": sampled.n,
        "sampled_regret": sampled.regret,
        "standard_error": sampled.standard_error,
    }
    if trial.cell.intervals:
        values["low"], values["high"] = bootstrap_interval(trial.regrets)
    return values


def _placement(trial: Trial) -> Values:
    """Table 2's diagnostics: counts over the schedules of all seeds, the mean of the stale drifts."""
    updates = rollout(trial.mission, trial.rule, trial.seeds, trace=True).updates
    assert updates is not None
    schedules = updates if (updates != updates[0]).any() else updates[:1]
    intervals = high_drift_intervals(trial.stage.setting, trial.mission)
    bounds = trial.mission.world.drift_bounds
    found = [measure_placement(np.flatnonzero(row).tolist(), bounds, intervals) for row in schedules]
    counts = ("updates", "updates_inside", "intervals", "intervals_met")
    drifts = ("mean_stale_drift", "max_stale_drift")
    return {
        "schedules": len(found),
        **{name: sum(getattr(each, name) for each in found) for name in counts},
        **{name: float(np.mean([getattr(each, name) for each in found])) for name in drifts},
    }


def _decomposition(trial: Trial) -> Values:
    causes = decompose(trial.mission, trial.rule, best=trial.stage.best)
    shapley = {"state": causes.state, "plan": causes.plan, "model": causes.model}
    return {"exact_regret": causes.regret, "decomposition": canonical(shapley)}


def _certificate(trial: Trial) -> Values:
    """The bounds of the times that the mission with the first seed takes; null where nothing is promised."""
    mission = trial.mission
    times = times_taken(mission, trial.rule, seed=trial.cell.seeds[0])
    bounds = {
        "certificate": certify(mission, times).value,
        "boxes": certify(mission, times, tightening=BOXES).value,
        "theorem": theorem(mission, times).total,
    }
    if mission.robot.execution == "map":
        bounds["in_advance"] = certify_ahead(mission, times).value
    finite = {name: value if isfinite(value) else None for name, value in bounds.items()}
    return {"certificate": canonical({"times": times, **finite})}


def _candidates(trial: Trial) -> Values:
    """Return the exact regret of each of the rule's own candidates, those that update alike computed once."""
    regrets: dict[Rule, float] = {}
    rules = trial.rule.candidates()
    for schedule, alike in distinct_schedules(trial.mission, rules).items():
        value = exact_regret(trial.mission, schedule, best=trial.stage.best)
        regrets |= dict.fromkeys(alike, value)
    return {"candidate_regrets": canonical([regrets[rule] for rule in rules])}


MEASURES: dict[str, Callable[[Trial], Values]] = {
    "exact": _exact,
    "dynamic": _dynamic,
    "sampled": _sampled,
    "placement": _placement,
    "decomposition": _decomposition,
    "certificate": _certificate,
    "candidates": _candidates,
}


def best_possible(stage: Stage) -> Values:
    """Return the least regret that exists, of feedback and of fixed times."""
    best, priced = optimum(stage.mission), stage.mission.spending.price is not None
    fixed = {
        "fixed_regret": best.fixed_regret,
        "fixed_times": best.fixed_times,
        "fixed_label": best.fixed_label,
    }
    return {
        "parameters": "{}",
        "exact_regret": best.feedback_regret,
        "oracle_return": best.oracle_return,
        "optimum": canonical(fixed),
        **(_spent(best.oracle_return, best.feedback_updates, best.feedback_objective) if priced else {}),
    }
