"""What having to learn costs: regret by estimator, and regret where the drift bounds are wrong.

Missions on learned kernels are sampled, 1000 seeds paired with the oracle's. Hyper-parameters are those that
validation chooses with the true kernel, so that estimators are compared on equal rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from replan.estimate import MISSPECIFICATIONS
from replan.evaluation.agent_runs import learned_returns
from replan.evaluation.exact import regret
from replan.evaluation.rollouts import SampledRegret, sampled_regret
from replan.execute.mission import Mission
from replan.model.kernel import Indices
from replan.schedule.rule import Rule
from replan.study.estimators import ESTIMATORS, TRUE_KERNEL, applies
from replan.study.parts import run_parts
from replan.study.protocol import HELD_OUT_SEEDS, Bench, bootstrap_interval, choose, prepare
from replan.worlds.settings import PAPER_SETTINGS, load_setting, make_mission

STALE_PLAN_SETTINGS = tuple(
    f"{world}-{degree}" for world in ("thin-ice", "crosswind", "terrain") for degree in ("medium", "hard")
)
LEARNING_SETTINGS = (*PAPER_SETTINGS, *STALE_PLAN_SETTINGS)
RULES = ("periodic", "regret-guided", "drift-threshold")
BOUND_RULES = ("regret-guided", "drift-threshold", "self-triggered")


@dataclass(frozen=True)
class LearnedRegret:
    """One setting, rule and estimator."""

    setting: str
    rule: str
    estimator: str
    told: str  # of the drift to the estimator: "right", or a misspecification
    sampled: SampledRegret
    low: float  # of the 95 % interval over paired seeds
    high: float


@dataclass(frozen=True)
class WrongBounds:
    """One setting and rule, exact regret by what the rule was told of the drift."""

    setting: str
    rule: str
    regrets: dict[str, float]  # "right" and each misspecification


def learning(
    names: Sequence[str] = LEARNING_SETTINGS,
    *,
    seeds: int = 1000,
    workers: int = 2,
    kept: Path | None = None,
) -> Iterator[tuple[list[LearnedRegret], list[WrongBounds]]]:
    """Setting by setting, as they are done; see `run_parts`."""
    return run_parts(learn_setting, [(name, seeds) for name in names], workers=workers, kept=kept)


def learn_setting(name: str, seeds: int = 1000) -> tuple[list[LearnedRegret], list[WrongBounds]]:
    """All rules and estimators on one setting; then estimators and rules that are told wrong drift bounds."""
    bench = prepare(make_mission(load_setting(name)))
    usable = [estimator for estimator in ESTIMATORS if applies(estimator, bench.mission)]
    cases = [(rule, estimator, "right") for rule, estimator in product(RULES, usable)]
    learners = [estimator for estimator in usable if estimator != TRUE_KERNEL]
    cases += [("periodic", estimator, told) for estimator, told in product(learners, MISSPECIFICATIONS)]
    rules = {rule: choose(bench, rule).rule for rule in ("periodic", *RULES)}
    learned = [
        LearnedRegret(
            name,
            rule,
            estimator,
            told,
            *_measured(bench, rules[rule], estimator, told, HELD_OUT_SEEDS[:seeds]),
        )
        for rule, estimator, told in cases
    ]
    return learned, [_wrong_bounds(bench, name, rule_name) for rule_name in BOUND_RULES]


def _measured(
    bench: Bench, rule: Rule, estimator: str, told: str, seeds: Indices
) -> tuple[SampledRegret, float, float]:
    """Sampled regret and its interval; the estimator, but not the rule, may be told wrong bounds."""
    believed = _told(bench.mission, told)
    returns = learned_returns(bench.mission, rule, lambda _: ESTIMATORS[estimator](believed), seeds)
    best = bench.held_out_returns[: len(returns)]
    return sampled_regret(best, returns), *bootstrap_interval(best - returns)


def _told(mission: Mission, what: str) -> Mission:
    """The mission as seen by who is told these drift bounds."""
    if what == "right":
        return mission
    bounds = np.asarray(MISSPECIFICATIONS[what](mission.world.drift_bounds))
    return replace(mission, world=replace(mission.world, stated_bounds=bounds))


def _wrong_bounds(bench: Bench, setting: str, rule_name: str) -> WrongBounds:
    """The rule as validated with the right bounds, then told others."""
    rule = choose(bench, rule_name).rule
    told = ("right", *MISSPECIFICATIONS)
    return WrongBounds(
        setting,
        rule_name,
        {what: regret(_told(bench.mission, what), rule, best=bench.best) for what in told},
    )
