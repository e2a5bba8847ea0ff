"""What having to learn costs: regret by estimator, and regret where the drift bounds are wrong.

Missions on learned kernels are sampled, 1000 seeds paired with the oracle's. Hyper-parameters are those that
validation chooses with the true kernel, so that estimators are compared on equal rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from replan.estimate import MISSPECIFICATIONS
from replan.evaluate.exact import regret
from replan.evaluate.learned import learned_returns
from replan.evaluate.rollout import SampledRegret, sampled_regret
from replan.model.kernel import Array
from replan.study.estimators import ESTIMATORS, applies
from replan.study.parts import run_parts
from replan.study.protocol import HELD_OUT_SEEDS, Bench, bootstrap_interval, choose, prepare
from replan.study.settings import PAPER_SETTINGS, load_setting, make_mission

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
    """All rules and estimators on one setting, and the rules that read drift bounds with wrong ones."""
    bench = prepare(make_mission(load_setting(name)))
    learned = []
    for rule_name in RULES:
        rule = choose(bench, rule_name).rule
        for estimator, make in ESTIMATORS.items():
            if applies(estimator, bench.mission):
                returns = learned_returns(bench.mission, rule, make, HELD_OUT_SEEDS[:seeds])
                learned.append(_measured(bench, name, rule_name, estimator, returns))
    return learned, [_wrong_bounds(bench, name, rule_name) for rule_name in BOUND_RULES]


def _measured(bench: Bench, setting: str, rule: str, estimator: str, returns: Array) -> LearnedRegret:
    best = bench.held_out_returns[: len(returns)]
    return LearnedRegret(
        setting, rule, estimator, sampled_regret(best, returns), *bootstrap_interval(best - returns)
    )


def _wrong_bounds(bench: Bench, setting: str, rule_name: str) -> WrongBounds:
    """The rule as validated with the right bounds, then told others."""
    mission, rule = bench.mission, choose(bench, rule_name).rule
    regrets = {"right": regret(mission, rule, best=bench.best)}
    for wrong, change in MISSPECIFICATIONS.items():
        told = np.asarray(change(mission.world.drift_bounds))
        world = replace(mission.world, stated_bounds=told)
        regrets[wrong] = regret(replace(mission, world=world), rule, best=bench.best)
    return WrongBounds(setting, rule_name, regrets)
