"""Validation and evaluation, the paper's protocol: hyper-parameters are chosen on one set of seeds, regret is
measured on another, and the two are disjoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from typing import Any

import numpy as np

from replan.evaluation.exact import regret as exact_regret
from replan.evaluation.rollouts import SampledRegret, oracle_rollout, rollout, sampled_regret
from replan.execute.mission import Mission
from replan.model.kernel import Array, Indices
from replan.planning.optimal_values import Oracle, oracle
from replan.schedule.registry import make_rule
from replan.schedule.rule import Rule
from replan.study.candidates import Search, candidates, distinct_schedules

HELD_OUT_SEEDS = np.arange(1000)
VALIDATION_SEEDS = np.arange(1_000_000, 1_000_500)


@dataclass(frozen=True)
class Choice:
    """The rule that validation chose."""

    rule: Rule
    validation_regret: float | None  # None where there was nothing to choose
    candidates: int
    distinct_schedules: int
    grid: dict[str, list[Any]] = field(default_factory=dict, repr=False)  # the values tried, by parameter

    def record(self) -> dict[str, Any]:
        """What an answer says of it."""
        chosen: dict[str, Any] = {"rule": self.rule.name, "parameters": parameters(self.rule)}
        if self.validation_regret is not None:
            chosen["validation"] = {
                "seeds": [int(VALIDATION_SEEDS[0]), int(VALIDATION_SEEDS[-1])],
                "candidates": self.candidates,
                "distinct_schedules": self.distinct_schedules,
                "grid": self.grid,
                "regret": self.validation_regret,
            }
        return chosen


@dataclass(frozen=True)
class Measurement:
    """Regret on the held-out seeds, and exactly."""

    sampled: SampledRegret
    low: float  # of the 95 % bootstrap interval over paired seeds
    high: float
    exact: float
    returns: Array = field(repr=False)  # (N,)


@dataclass(frozen=True)
class Bench:
    """A mission with what all rules share: the oracle's values and its returns on both sets of seeds."""

    mission: Mission
    best: Oracle = field(repr=False)
    validation_returns: Array = field(repr=False)  # (N,) the oracle's
    held_out_returns: Array = field(repr=False)


def prepare(mission: Mission) -> Bench:
    """Run the oracle once."""
    best = oracle(mission.world)
    validation, held_out = (
        oracle_rollout(mission.world, seeds, best=best, ties=mission.ties)
        for seeds in (VALIDATION_SEEDS, HELD_OUT_SEEDS)
    )
    return Bench(mission, best, validation, held_out)


def choose(
    bench: Bench, name: str, *, given: dict[str, Any] | None = None, search: Search = "paper"
) -> Choice:
    """The candidate with the least validation regret; parameters that are `given` are not chosen."""
    rules = _with_given(name, candidates(name, bench.mission, search=search), given or {})
    if len(rules) == 1:
        return Choice(rules[0], None, 1, 1)
    schedules = distinct_schedules(bench.mission, rules)
    scores = {schedule: validation_regret(bench, schedule) for schedule in schedules}
    best = min(scores, key=lambda schedule: scores[schedule])
    return Choice(schedules[best][0], scores[best], len(rules), len(schedules), grid(rules))


def grid(rules: Sequence[Rule]) -> dict[str, list[Any]]:
    """The values that each hyper-parameter takes among the rules, where it takes more than one."""
    found = [parameters(rule) for rule in rules]
    values = {name: list(dict.fromkeys(each[name] for each in found)) for name in found[0]}
    return {name: tried for name, tried in values.items() if len(tried) > 1}


def validation_regret(bench: Bench, rule: Rule) -> float:
    """Mean regret on the validation seeds."""
    returns = rollout(bench.mission, rule, VALIDATION_SEEDS).returns
    return float((bench.validation_returns - returns).mean())


def measure(bench: Bench, rule: Rule, *, seeds: Indices = HELD_OUT_SEEDS) -> Measurement:
    """Regret on the held-out seeds with its interval, and the exact value beside it."""
    returns = rollout(bench.mission, rule, seeds).returns
    gaps = bench.held_out_returns - returns
    low, high = bootstrap_interval(gaps)
    exact = exact_regret(bench.mission, rule, best=bench.best)
    return Measurement(sampled_regret(bench.held_out_returns, returns), low, high, exact, returns)


def bootstrap_interval(
    differences: Array, *, confidence: float = 0.95, resamples: int = 2000
) -> tuple[float, float]:
    """Percentile bootstrap of the mean of paired differences, the same for the same data."""
    if np.ptp(differences) == 0:
        return float(differences[0]), float(differences[0])
    from scipy.stats import bootstrap

    interval = bootstrap(
        (differences,),
        np.mean,
        n_resamples=resamples,
        confidence_level=confidence,
        method="percentile",
        batch=500,
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def parameters(rule: Rule) -> dict[str, Any]:
    """The hyper-parameters of a rule as plain data; functions by their names."""
    if not is_dataclass(rule):
        return {}
    return {
        name: getattr(value, "__name__", repr(value)) if callable(value) else value
        for name, value in asdict(rule).items()  # pyright: ignore[reportArgumentType]
    }


def _with_given(name: str, rules: Sequence[Rule], given: dict[str, Any]) -> list[Rule]:
    """The candidates with the given parameters put in, each rule once."""
    if not given:
        return list(rules)
    fixed = {key: getattr(make_rule(name, **given), key) for key in given}
    return list(dict.fromkeys(replace(rule, **fixed) for rule in rules))  # pyright: ignore[reportArgumentType, reportCallIssue]
