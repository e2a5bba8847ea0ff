"""The work of a worker: compute cells. A cell that fails is an outcome like any other."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.evaluation.scale import regret_share
from replan.model.kernel import Array, Indices
from replan.schedule.rule import Decision, Rule
from replan.study.cells import BEST_POSSIBLE, Cell, canonical
from replan.study.joint import JointMeasure
from replan.study.measures import MEASURES, Stage, Trial, Values, best_possible, stage_of
from replan.study.protocol import choose, parameters
from replan.study.rule_source import given_rule
from replan.study.versions import code_version

Batch = tuple[Cell, ...]


@dataclass(frozen=True)
class Result:
    """Measurements of a finished cell."""

    key: int
    seconds: float
    cpu_seconds: float
    worker: str
    values: Values
    seeds: Indices = field(
        default_factory=lambda: np.empty(0), repr=False
    )  # (N,), none where nothing was sampled
    returns: Array = field(default_factory=lambda: np.empty(0), repr=False)  # (N,)
    regrets: Array = field(
        default_factory=lambda: np.empty(0), repr=False
    )  # (N,) the oracle's return minus the rule's, paired
    decisions: Sequence[tuple[int, Decision]] = field(default=(), repr=False)  # of the first seed


@dataclass(frozen=True)
class Failure:
    """The reason that a cell has no result."""

    key: int
    seconds: float
    worker: str
    reason: str  # one line


Outcome = Result | Failure


def compute_batch(batch: Batch) -> list[Outcome]:
    """Compute the cells of the batch one after the other, those of a joint measure together."""
    groups = groupby(batch, key=lambda cell: cell.joint.group(cell) if cell.joint else cell.identity)
    return [outcome for _, cells in groups for outcome in compute(*cells)]


def compute(first: Cell, *others: Cell) -> list[Outcome]:
    """Compute one cell, or several of a joint measure; a fault in a cell is its outcome."""
    if first.version != code_version():
        raise InputError(f"a worker has replan {code_version()}, but the study is run by {first.version}")
    cells = (first, *others)
    began, cpu = time.perf_counter(), time.process_time()
    worker = f"{socket.gethostname()}:{os.getpid()}"
    try:
        results = [_compute(first)] if first.joint is None else _together(first.joint, cells)
    except Exception as error:
        if others:
            return [outcome for cell in cells for outcome in compute(cell)]
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return [Failure(first.key, time.perf_counter() - began, worker, reason)]
    seconds = (time.perf_counter() - began) / len(cells)
    cpu = (time.process_time() - cpu) / len(cells)
    return [
        Result(key=cell.key, seconds=seconds, cpu_seconds=cpu, worker=worker, **result)
        for cell, result in zip(cells, results, strict=True)
    ]


def _together(measure: JointMeasure, cells: Sequence[Cell]) -> list[dict[str, Any]]:
    return [{"values": values} for values in measure.compute(cells)]


def _compute(cell: Cell) -> dict[str, Any]:
    stage = stage_of(cell.setting, cell.execution)
    if cell.rule == BEST_POSSIBLE:
        return {"values": _with_share(best_possible(stage), stage)}
    rule, values = _rule(cell, stage)
    trial = Trial(cell, stage, rule, stage.stated(cell.stated_bounds))
    values["oracle_return"] = float(stage.best.values[0][stage.mission.world.start])
    for name in cell.measure:
        values |= MEASURES[name](trial)
    found: dict[str, Any] = {"values": _with_share(values, stage)}
    if "sampled" in cell.measure:
        found |= {"seeds": trial.seeds, "returns": trial.returns, "regrets": trial.regrets}
    if cell.decisions:
        found["decisions"] = trial.decisions
        values["times"] = canonical([t for t, decision in trial.decisions if decision.update])
    return found


def _with_share(values: Values, stage: Stage) -> Values:
    """Add the share of the regret of never updating: of the exact regret, else of the sampled one."""
    regret = values.get("exact_regret", values.get("sampled_regret"))
    if regret is not None:
        values["regret_share"] = regret_share(regret, stage.never)
    return values


def _rule(cell: Cell, stage: Stage) -> tuple[Rule, Values]:
    """The rule of the cell and the columns that describe it; it is chosen with the right drift bounds."""
    given = json.loads(cell.given)
    if cell.search is None:
        rule = given_rule(cell.rule, given, cell.source)
        return rule, {"parameters": json.dumps(parameters(rule))}
    given = {key: getattr(given_rule(cell.rule, given), key) for key in given}
    choice = choose(stage, cell.rule, given=given, search=cell.search)  # pyright: ignore[reportArgumentType]
    return choice.rule, {
        "parameters": json.dumps(parameters(choice.rule)),
        "validation_regret": choice.validation_regret,
        "candidates": choice.candidates,
        "validation": canonical(choice.validation()),
    }
