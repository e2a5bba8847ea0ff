"""The measures of a study. A new measure is one class here: its name, its columns and how it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from replan import (
    Decision,
    Mission,
    Need,
    Rule,
    Setting,
    Tightening,
    certify,
    certify_ahead,
    decompose,
    evaluate,
    optimum,
    rollout,
    run_agent,
    theorem,
)
from replan import regret as exact_regret
from replan.certificates.legs import times_taken
from replan.evaluation.agent_runs import learned_samples
from replan.evaluation.rollouts import Rollouts, sampled_regret
from replan.evaluation.visits import Follow
from replan.execute.mission import make_timeline
from replan.results.measure import CellMeasure, Measure
from replan.study.candidates import distinct_schedules
from replan.study.placement import Interval, measure_placement, top_quartile_intervals
from replan.study.protocol import Stage, bootstrap_interval
from replan.typing import Array, Indices
from replan.worlds.estimators import ESTIMATORS, EXACT_ESTIMATORS
from replan.worlds.mars_rover import PiecewiseDrift, Rover

if TYPE_CHECKING:
    from replan.study.cells import Cell

BOXES = Tightening(both_ends=False, one_kernel=False, structure=False)


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
    def rollouts(self) -> Rollouts:
        """Sampled missions, with their update times if these are measured too."""
        trace = UpdatePlacement.name in self.cell.measured
        return rollout(self.mission, self.rule, self.seeds, trace=trace)

    @cached_property
    def samples(self) -> tuple[Array, Indices]:
        """(N,) returns and numbers of updates, mission by mission if the agent learns from what it sees."""
        if self.cell.estimator in EXACT_ESTIMATORS:
            return self.rollouts.returns, self.rollouts.update_counts
        return learned_samples(self.mission, self.rule, ESTIMATORS[self.cell.estimator], self.seeds)

    @property
    def returns(self) -> Array:
        """(N,)."""
        return self.samples[0]

    @cached_property
    def regrets(self) -> Array:
        """(N,) the oracle's return minus the rule's, paired."""
        return self.stage.held_out_returns(*self.cell.seeds) - self.returns

    @cached_property
    def decisions(self) -> Sequence[tuple[int, Decision]]:
        """Every decision of the first seed."""
        seed = self.cell.seeds[0]
        exact = self.cell.estimator in EXACT_ESTIMATORS
        if exact and not self.mission.robot.sees and Need.STATE not in self.rule.needs:
            return make_timeline(self.mission, self.rule, seed=seed).decisions
        estimator = ESTIMATORS[self.cell.estimator](self.mission)
        return run_agent(self.mission, self.rule, seed=seed, estimator=estimator).decisions


def high_drift_intervals(setting: Setting, mission: Mission) -> list[Interval]:
    """Return the configured bursts, else the intervals of greatest drift."""
    if isinstance(setting, Rover) and isinstance(setting.drift, PiecewiseDrift):
        return setting.drift.intervals(mission.horizon)
    return top_quartile_intervals(mission.world.drift_bounds)


@dataclass(frozen=True)
class RuleColumns(Measure):
    """The rule of a cell, and how its hyper-parameters were chosen."""

    parameters: dict[str, Any] | None = None
    validation_regret: float | None = None
    candidates: int | None = None
    validation: dict[str, Any] | None = None
    times: list[int] | None = None


@dataclass(frozen=True)
class Scale(Measure):
    """The oracle's return, the regret as a share of that of never updating, and whether updates matter."""

    oracle_return: float | None = None
    regret_share: float | None = None
    makes_a_difference: bool | None = None


@dataclass(frozen=True)
class Exact(CellMeasure, name="exact"):
    """Regret without sampling; with prices what the updates cost; of localised robots how many they make."""

    exact_regret: float | None = None
    expected_updates: float | None = None
    objective: float | None = None
    priced_regret: float | None = None

    @classmethod
    def of(cls, trial: Trial) -> Self:
        """Return the regret of the rule."""
        priced, sees = trial.mission.spending.price is not None, trial.mission.robot.sees
        if not (priced or sees):
            return cls(exact_regret(trial.mission, trial.rule, best=trial.stage.best))
        exact = evaluate(trial.mission, trial.rule, best=trial.stage.best, all_starts=False)
        if not priced:
            return cls(exact.regret, exact.expected_updates)
        return cls(exact.regret, **_spent(exact.oracle_return, exact.expected_updates, exact.objective))


def _spent(oracle_return: float, updates: float, objective: float) -> dict[str, float]:
    """Return the columns of a mission with prices."""
    return {"expected_updates": updates, "objective": objective, "priced_regret": oracle_return - objective}


@dataclass(frozen=True)
class Dynamic(CellMeasure, name="dynamic"):
    """The greatest exact regret of all starts."""

    dynamic_regret: float | None = None

    @classmethod
    def of(cls, trial: Trial) -> Self:
        """Return the greatest regret."""
        gaps = trial.stage.best.values[0] - Follow(trial.mission, trial.rule).returns()
        return cls(trial.mission.world.worst(gaps))


@dataclass(frozen=True)
class Sampled(CellMeasure, name="sampled"):
    """Mean regret on the seeds, paired with the oracle, its 95 % bootstrap interval; the mean of updates."""

    samples: int | None = None
    sampled_regret: float | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    mean_updates: float | None = None
    on_seeds, of_learners = True, True

    @classmethod
    def of(cls, trial: Trial) -> Self:
        """Return the mean over the seeds."""
        sampled = sampled_regret(trial.stage.held_out_returns(*trial.cell.seeds), trial.returns)
        interval = bootstrap_interval(trial.regrets) if trial.cell.intervals else (None, None)
        updates = float(trial.samples[1].mean())
        return cls(sampled.n, sampled.regret, sampled.standard_error, *interval, updates)


@dataclass(frozen=True)
class UpdatePlacement(CellMeasure, name="placement"):
    """Table 2's diagnostics: counts over the schedules of all seeds, the mean of the stale drifts.

    Drift is that of the world, whatever bounds the rule is told.
    """

    schedules: int | None = None
    updates: int | None = None
    updates_inside: int | None = None
    intervals: int | None = None
    intervals_met: int | None = None
    mean_stale_drift: float | None = None
    max_stale_drift: float | None = None
    on_seeds = True

    @classmethod
    def of(cls, trial: Trial) -> Self:
        """Return the figures of the schedules that the seeds make."""
        updates = trial.rollouts.updates
        assert updates is not None
        schedules = updates if (updates != updates[0]).any() else updates[:1]
        intervals = high_drift_intervals(trial.stage.setting, trial.stage.mission)
        bounds = trial.stage.mission.world.drift_bounds
        found = [measure_placement(np.flatnonzero(row).tolist(), bounds, intervals) for row in schedules]
        return cls(
            schedules=len(found),
            updates=sum(each.updates for each in found),
            updates_inside=sum(each.updates_inside for each in found),
            intervals=sum(each.intervals for each in found),
            intervals_met=sum(each.intervals_met for each in found),
            mean_stale_drift=float(np.mean([each.mean_stale_drift for each in found])),
            max_stale_drift=float(np.mean([each.max_stale_drift for each in found])),
        )


@dataclass(frozen=True)
class RegretCauses(CellMeasure, name="decomposition"):
    """Exact regret and its causes: the state not seen, the stale plan, the wrong model."""

    exact_regret: float | None = None
    decomposition: dict[str, float] | None = None

    @classmethod
    def of(cls, trial: Trial) -> Self:
        """Return the Shapley shares."""
        causes = decompose(trial.mission, trial.rule, best=trial.stage.best)
        return cls(causes.regret, causes.parts)


@dataclass(frozen=True)
class Certificates(CellMeasure, name="certificate"):
    """Bounds on the regret, null if nothing is promised."""

    certificate: dict[str, Any] | None = None

    @classmethod
    def of(cls, trial: Trial) -> Self:
        """Return the bounds of the times that the mission with the first seed takes."""
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
        return cls({"times": times, **finite})


@dataclass(frozen=True)
class CandidateRegrets(CellMeasure, name="candidates"):
    """The exact regret of each of the rule's own candidates."""

    candidate_regrets: list[float] | None = None

    @classmethod
    def of(cls, trial: Trial) -> Self:
        """Return the regrets; candidates that update alike are computed once."""
        regrets: dict[Rule, float] = {}
        rules = trial.rule.candidates()
        for alike in distinct_schedules(trial.mission, rules):
            value = exact_regret(trial.mission, alike[0], best=trial.stage.best)
            regrets |= dict.fromkeys(alike, value)
        return cls([regrets[rule] for rule in rules])


@dataclass(frozen=True)
class BestPossible(CellMeasure, name="optimum"):
    """The least regret that exists, or with a price the best objective. It is measured in place of a rule.

    Figures are None if the optimum is not computed for the mission's forecast.
    """

    parameters: dict[str, Any] | None = None
    exact_regret: float | None = None
    oracle_return: float | None = None
    optimum: dict[str, Any] | None = None
    expected_updates: float | None = None
    objective: float | None = None
    priced_regret: float | None = None

    @classmethod
    def of(cls, trial: Stage) -> Self:
        """Return the optimum of a stage."""
        best, priced = optimum(trial.mission), trial.mission.spending.price is not None
        found = {
            "feedback_regret": best.feedback_regret,
            "fixed_regret": best.fixed_regret,
            "fixed_times": best.fixed_times,
            "fixed_label": best.fixed_label,
        }
        spent = {"expected_updates": best.feedback_updates} if trial.mission.robot.sees else {}
        if priced:
            spent = _spent(best.oracle_return, best.feedback_updates, best.feedback_objective)
        regret = None if priced else best.feedback_regret  # the best objective has not the least regret
        return cls({}, regret, best.oracle_return, found, **spent)
