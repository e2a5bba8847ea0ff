"""What a worker does: compute cells. A cell that fails is an outcome like any other."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.evaluation.agent_runs import learned_returns, run_agent
from replan.evaluation.exact import all_returns
from replan.evaluation.exact import regret as exact_regret
from replan.evaluation.placement import placement
from replan.evaluation.rollouts import oracle_rollout, rollout, sampled_regret
from replan.execute.mission import Mission
from replan.execute.timeline import make_timeline
from replan.model.kernel import Array, Indices
from replan.planning.optimal_values import Oracle, oracle
from replan.schedule.rule import Decision, Need, Rule
from replan.study.cells import Cell, canonical
from replan.study.definition import given_rule
from replan.study.estimators import ESTIMATORS, TRUE_KERNEL
from replan.study.protocol import VALIDATION_SEEDS, Bench, bootstrap_interval, choose, parameters
from replan.study.simulation import high_drift_intervals
from replan.study.versions import code_version
from replan.worlds.settings import Setting, make_mission, parse_setting

Batch = tuple[Cell, ...]


@dataclass(frozen=True)
class Result:
    """What a cell came to."""

    key: int
    seconds: float
    cpu_seconds: float
    worker: str
    values: dict[str, Any]  # columns of the store's `results`
    seeds: Indices = field(repr=False)  # (N,), none where nothing was sampled
    returns: Array = field(repr=False)  # (N,)
    regrets: Array = field(repr=False)  # (N,) the oracle's return minus the rule's, paired
    decisions: tuple[tuple[int, Decision], ...] = field(repr=False)  # of the first seed


@dataclass(frozen=True)
class Failure:
    """Why a cell has no result."""

    key: int
    seconds: float
    worker: str
    reason: str  # one line


Outcome = Result | Failure


def compute_batch(batch: Batch) -> list[Outcome]:
    """Every cell of the batch, one after the other."""
    return [compute(cell) for cell in batch]


def compute(cell: Cell) -> Outcome:
    """One cell; whatever goes wrong with it is its outcome."""
    if cell.version != code_version():
        raise InputError(f"a worker has replan {code_version()}, but the study is run by {cell.version}")
    began, cpu = time.perf_counter(), time.process_time()
    worker = f"{socket.gethostname()}:{os.getpid()}"
    try:
        result = _compute(cell)
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return Failure(cell.key, time.perf_counter() - began, worker, reason)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return Result(key=cell.key, seconds=seconds, cpu_seconds=cpu, worker=worker, **result)


def _compute(cell: Cell) -> dict[str, Any]:
    stage = _stage(cell.setting, cell.execution)
    mission = stage.mission
    rule, values = _rule(cell, stage)
    values["oracle_return"] = float(stage.best.values[0][mission.world.start])
    seeds = returns = regrets = np.empty(0)
    if "exact" in cell.measure:
        values["exact_regret"] = exact_regret(mission, rule, best=stage.best)
    if "dynamic" in cell.measure:
        gaps = stage.best.values[0] - all_returns(mission, rule)
        starts = mission.world.start_states
        values["dynamic_regret"] = float((gaps if starts is None else gaps[starts]).max())
    if "placement" in cell.measure:
        values |= _placement(stage, rule, _seeds(cell))
    if "sampled" in cell.measure:
        seeds = _seeds(cell)
        returns = _returns(cell, mission, rule, seeds)
        best_returns = stage.oracle_returns(*cell.seeds)
        regrets = best_returns - returns
        sampled = sampled_regret(best_returns, returns)
        values |= {
            "samples": sampled.n,
            "sampled_regret": sampled.regret,
            "standard_error": sampled.standard_error,
        }
        if cell.intervals:
            values["low"], values["high"] = bootstrap_interval(regrets)
    decisions = _decisions(cell, mission, rule) if cell.decisions else ()
    return {"values": values, "seeds": seeds, "returns": returns, "regrets": regrets, "decisions": decisions}


@dataclass(frozen=True)
class _Stage:
    """What all cells of one setting and execution share; a worker keeps the last few."""

    setting: Setting
    mission: Mission

    @cached_property
    def best(self) -> Oracle:
        return oracle(self.mission.world)

    @cached_property
    def bench(self) -> Bench:
        """For validation; the held-out returns are not its business."""
        returns = self._oracle_returns(VALIDATION_SEEDS)
        return Bench(self.mission, self.best, returns, np.empty(0))

    @cached_property
    def oracle_returns(self):
        return lru_cache(maxsize=2)(
            lambda first, count: self._oracle_returns(np.arange(first, first + count))
        )

    def _oracle_returns(self, seeds: Indices) -> Array:
        return oracle_rollout(self.mission.world, seeds, best=self.best, ties=self.mission.ties)


@lru_cache(maxsize=4)
def _stage(setting: str, execution: str) -> _Stage:
    parsed = parse_setting(json.loads(setting))
    return _Stage(parsed, make_mission(parsed, execution=execution))  # pyright: ignore[reportArgumentType]


def _seeds(cell: Cell) -> Indices:
    first, count = cell.seeds
    return np.arange(first, first + count)


def _rule(cell: Cell, stage: _Stage) -> tuple[Rule, dict[str, Any]]:
    """The rule of the cell and what the store says of it."""
    given = json.loads(cell.given)
    if cell.search is None:
        rule = given_rule(cell.rule, given)
        return rule, {"parameters": canonical(parameters(rule))}
    given = {key: getattr(given_rule(cell.rule, given), key) for key in given}
    choice = choose(stage.bench, cell.rule, given=given, search=cell.search)  # pyright: ignore[reportArgumentType]
    return choice.rule, {
        "parameters": canonical(parameters(choice.rule)),
        "validation_regret": choice.validation_regret,
        "candidates": choice.candidates,
    }


def _returns(cell: Cell, mission: Mission, rule: Rule, seeds: Indices) -> Array:
    """(N,) by rollouts side by side, or where the agent learns from what it sees mission by mission."""
    if cell.estimator == TRUE_KERNEL:
        return rollout(mission, rule, seeds).returns
    return learned_returns(mission, rule, ESTIMATORS[cell.estimator], seeds)


def _placement(stage: _Stage, rule: Rule, seeds: Indices) -> dict[str, Any]:
    """Table 2's diagnostics: counts over the schedules of all seeds, the mean of the stale drifts."""
    updates = rollout(stage.mission, rule, seeds, trace=True).updates
    assert updates is not None
    schedules = updates if (updates != updates[0]).any() else updates[:1]
    intervals = high_drift_intervals(stage.setting, stage.mission)
    bounds = stage.mission.world.drift_bounds
    found = [placement(np.flatnonzero(row).tolist(), bounds, intervals) for row in schedules]
    return {
        "schedules": len(found),
        **{
            name: sum(getattr(each, name) for each in found)
            for name in ("updates", "updates_inside", "intervals", "intervals_met")
        },
        **{
            name: float(np.mean([getattr(each, name) for each in found]))
            for name in ("mean_stale_drift", "max_stale_drift")
        },
    }


def _decisions(cell: Cell, mission: Mission, rule: Rule) -> Sequence[tuple[int, Decision]]:
    """Every decision of the first seed."""
    seed = cell.seeds[0]
    if cell.estimator == TRUE_KERNEL and Need.STATE not in rule.needs:
        return make_timeline(mission, rule, seed=seed).decisions
    estimator = ESTIMATORS[cell.estimator](mission)
    return run_agent(mission, rule, seed=seed, estimator=estimator).decisions
