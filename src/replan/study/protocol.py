"""Validation and evaluation, the paper's protocol: hyper-parameters are chosen on one set of seeds, regret is
measured on another, and the two are disjoint.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from replan import Mission, Rule, Setting, evaluate, make_mission, make_rule, oracle, rollout
from replan.estimate.drift_bounds import MISSPECIFICATIONS
from replan.evaluation.rollouts import oracle_rollout
from replan.evaluation.scale import RegretScale
from replan.planning.optimal_values import Oracle
from replan.schedule.registry import list_parameters, registered_rule, rule_parameters
from replan.study.candidates import Search, candidates, distinct_schedules
from replan.typing import Array, Indices
from replan.worlds.settings import parse_setting

HELD_OUT_SEEDS = np.arange(1000)
VALIDATION_SEEDS = np.arange(1_000_000, 1_000_500)


@dataclass(frozen=True)
class Choice:
    """The rule that was chosen among its candidates."""

    rule: Rule
    validation_regret: float | None = None  # of the chosen rule; None if there was no choice
    candidates: int = 1
    distinct_schedules: int = 1
    grid: dict[str, list[Any]] = field(default_factory=dict, repr=False)  # the values tried, by parameter
    search: Search = "paper"

    def validation(self) -> dict[str, Any] | None:
        """Return how the rule was chosen, as plain data; None if there was no choice."""
        if self.validation_regret is None:
            return None
        return {
            "seeds": None
            if self.search == "exact"
            else [int(VALIDATION_SEEDS[0]), int(VALIDATION_SEEDS[-1])],
            "candidates": self.candidates,
            "distinct_schedules": self.distinct_schedules,
            "grid": self.grid,
            "regret": self.validation_regret,
        }

    def record(self) -> dict[str, Any]:
        """Return the rule, its hyper-parameters and how they were chosen, as plain data."""
        chosen: dict[str, Any] = {"rule": self.rule.name, "parameters": list_parameters(self.rule)}
        validation = self.validation()
        return chosen if validation is None else {**chosen, "validation": validation}


@dataclass(frozen=True)
class Bench:
    """A mission with the oracle's values and its returns, which all rules are compared with."""

    mission: Mission

    @cached_property
    def best(self) -> Oracle:
        """The oracle's values."""
        return oracle(self.mission.world)

    @cached_property
    def validation_returns(self) -> Array:
        """(N,) the oracle's on the validation seeds."""
        return self.oracle_returns(VALIDATION_SEEDS)

    def oracle_returns(self, seeds: Indices) -> Array:
        """(N,) the oracle's on these seeds."""
        return oracle_rollout(self.mission.world, seeds, best=self.best, ties=self.mission.robot.ties)


@dataclass(frozen=True)
class Stage(Bench):
    """A mission with what all cells of its setting and execution share; a worker keeps the last few."""

    setting: Setting

    @cached_property
    def held_out_returns(self) -> Callable[[int, int], Array]:
        """The oracle's returns on `count` seeds from `first` on."""
        return lru_cache(maxsize=2)(lambda first, count: self.oracle_returns(np.arange(first, first + count)))

    @cached_property
    def scale(self) -> RegretScale:
        """The regret of a robot that never updates, and whether it is worth counting."""
        return RegretScale.of_never_updating(self.mission, best=self.best)

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


def choose(
    bench: Bench, name: str, *, given: dict[str, Any] | None = None, search: Search = "paper"
) -> Choice:
    """Choose the candidate with the least regret.

    Regret is that on the validation seeds, or with `search="exact"` the exact one. If updates have a price,
    it is added.

    Parameters
    ----------
    bench : Bench
        The mission, with what all rules on it are compared with.
    name : str
        Name of a registered rule.
    given : dict, optional
        Hyper-parameters that are not chosen.
    search : {"paper", "equal", "exact"}
        The candidates.

    Returns
    -------
    Choice
        The rule, and how it was chosen.
    """
    if given and given.keys() >= rule_parameters(registered_rule(name)).keys():
        return Choice(make_rule(name, **given))
    rules = with_given(name, candidates(name, bench.mission, search=search), given or {})
    if len(rules) == 1:
        return Choice(rules[0])
    schedules = distinct_schedules(bench.mission, rules)
    score = exact_regret if search == "exact" else validation_regret
    scores = [score(bench, alike[0]) for alike in schedules]
    best = int(np.argmin(scores))
    return Choice(schedules[best][0], scores[best], len(rules), len(schedules), grid(rules), search)


def exact_regret(bench: Bench, rule: Rule) -> float:
    """Return the expected regret with the price of the updates, computed without sampling."""
    return evaluate(bench.mission, rule, best=bench.best, all_starts=False).priced_regret


def grid(rules: Sequence[Rule]) -> dict[str, list[Any]]:
    """Return the values of each hyper-parameter that differs between the rules."""
    found = [list_parameters(rule) for rule in rules]
    values = {name: list(dict.fromkeys(each[name] for each in found)) for name in found[0]}
    return {name: tried for name, tried in values.items() if len(tried) > 1}


def validation_regret(bench: Bench, rule: Rule) -> float:
    """Return the mean regret on the validation seeds, with the price of the updates."""
    found = rollout(bench.mission, rule, VALIDATION_SEEDS)
    paid = (bench.mission.spending.price or 0.0) * found.update_counts
    return float((bench.validation_returns - found.returns + paid).mean())


def bootstrap_interval(differences: Array) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap of the mean of paired differences, the same for the same data."""
    if np.ptp(differences) == 0:
        return float(differences[0]), float(differences[0])
    from scipy.stats import bootstrap

    interval = bootstrap(
        (differences,),
        np.mean,
        n_resamples=2000,
        method="percentile",
        batch=500,
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def with_given(name: str, rules: Sequence[Rule], given: dict[str, Any]) -> list[Rule]:
    """Return the candidates with the given parameters put in, each rule once."""
    if not given:
        return list(rules)
    fixed = {key: getattr(make_rule(name, **given), key) for key in given}
    return list(dict.fromkeys(replace(rule, **fixed) for rule in rules))  # pyright: ignore[reportArgumentType, reportCallIssue]
