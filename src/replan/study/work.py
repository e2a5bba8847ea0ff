"""The work of a worker: compute cells. A cell that fails is an outcome like any other."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Any

import numpy as np

from replan import Decision, Rule, find_rule
from replan.errors import InputError
from replan.results.key import BEST_POSSIBLE, Record
from replan.results.measure import CellMeasure, JointMeasure, Measure, canonical
from replan.results.store import Columns, by_column
from replan.schedule.registry import list_parameters
from replan.study.cells import Cell, version_of
from replan.study.measures import BestPossible, RuleColumns, Scale, Trial
from replan.study.protocol import Choice, Stage, choose, stage_of
from replan.typing import Array, Indices
from replan.worlds.estimators import EXACT_ESTIMATORS, with_estimator

Batch = tuple[Cell, ...]


@dataclass(frozen=True)
class Result:
    """Measurements of a finished cell."""

    key: int
    seconds: float
    cpu_seconds: float
    worker: str
    values: dict[str, Any]  # by column of the store's `results`
    seeds: Indices = field(
        default_factory=lambda: np.empty(0), repr=False
    )  # (N,), empty if nothing was sampled
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
    """Compute the cells of a batch in order; cells with an equal `together` are computed in one call."""
    groups = groupby(batch, key=lambda cell: cell.together or cell.identity)
    return [outcome for _, cells in groups for outcome in compute(*cells)]


def compute_elsewhere(batch: Batch) -> list[Outcome]:
    """Compute a batch on another machine. Raises `InputError` if that has another replan than the study."""
    for cell in batch:
        if cell.version != (own := version_of(cell.measure)):
            raise InputError(f"a worker has replan {own}, but the study is run by {cell.version}")
    return compute_batch(batch)


def compute(first: Cell, *others: Cell) -> list[Outcome]:
    """Compute one cell, or several together. An exception becomes the outcome of its cell."""
    cells = (first, *others)
    began, cpu = time.perf_counter(), time.process_time()
    worker = f"{socket.gethostname()}:{os.getpid()}"
    try:
        results = [_compute(first)] if first.together is None else _compute_together(cells)
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


def _compute_together(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    (measure,) = cells[0].measure
    assert issubclass(measure, JointMeasure)
    return [{"values": _columns(*found)} for found in measure.of_all(cells)]


def _compute(cell: Cell) -> dict[str, Any]:
    stage = stage_of(cell.setting, cell.execution)
    if cell.rule == BEST_POSSIBLE:
        best = BestPossible.of(stage)
        return {"values": _columns(best, _scale(best.row(), best.oracle_return, stage))}
    chosen = _chosen(cell, stage)
    mission = stage.stated(cell.stated_bounds)
    if cell.estimator in EXACT_ESTIMATORS:
        mission = with_estimator(mission, cell.estimator)
    trial = Trial(cell, stage, chosen.rule, mission)
    found: dict[str, Any] = {}
    if cell.decisions:
        found["decisions"] = trial.decisions
        times = [t for t, decision in trial.decisions if decision.update]
    else:
        times = None
    values = _columns(*(measure.of(trial) for measure in cell.measure if issubclass(measure, CellMeasure)))
    oracle_return = float(stage.best.values[0][stage.mission.world.start])
    values |= _columns(_rule_columns(cell, chosen, times), _scale(values, oracle_return, stage))
    if "sampled" in cell.measured:
        found |= {"seeds": trial.seeds, "returns": trial.returns, "regrets": trial.regrets}
    return {**found, "values": values}


def _columns(*measures: Measure) -> dict[str, Any]:
    return {name: value for measure in measures for name, value in measure.row().items()}


def _scale(values: Mapping[str, Any], oracle_return: float | None, stage: Stage) -> Scale:
    """Return the exact regret, else the sampled one, on the scale of the mission."""
    regret = values.get("exact_regret", values.get("sampled_regret"))
    share = None if regret is None else stage.scale.share(regret)
    return Scale(oracle_return, share, stage.scale.makes_a_difference)


def _chosen(cell: Cell, stage: Stage) -> Choice:
    """Return the rule of the cell; it is chosen with the right drift bounds."""
    given = json.loads(cell.given)
    if cell.search is None:
        return Choice(find_rule(cell.rule, text=cell.source).make(**given))
    rule = find_rule(cell.rule).make(**given)
    given = {key: getattr(rule, key) for key in given}
    return choose(stage, cell.rule, given=given, search=cell.search)  # pyright: ignore[reportArgumentType]


def _rule_columns(cell: Cell, choice: Choice, times: list[int] | None) -> RuleColumns:
    tried = None if cell.search is None else choice.candidates
    return RuleColumns(
        list_parameters(choice.rule), choice.validation_regret, tried, choice.validation(), times
    )


def rule_of(record: Record) -> Rule:
    """Return the rule as it was run. Raises `InputError` if it is not registered here."""
    name = record.get("registered_rule") or record["rule"]
    return find_rule(name, text=record.get("source")).make(**record["parameters"])


def outcome_rows(outcomes: Sequence[Outcome], *, start: int) -> dict[str, Columns]:
    """Return the rows that outcomes of the start of that number add to each table of the store."""
    results = [outcome for outcome in outcomes if isinstance(outcome, Result)]
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    return {
        "results": by_column({"cell": each.key, **each.values} for each in results),
        "samples": _samples(results),
        "decisions": by_column(chain.from_iterable(map(_decision_rows, results))),
        "failures": by_column({"cell": each.key, "start": start, "reason": each.reason} for each in failures),
        "timings": by_column(
            {
                "cell": each.key,
                "start": start,
                "seconds": each.seconds,
                "cpu_seconds": each.cpu_seconds,
                "worker": each.worker,
            }
            for each in results
        ),
    }


def _samples(results: Sequence[Result]) -> Columns:
    if not results:
        return {}
    return {
        "cell": np.repeat([each.key for each in results], [len(each.seeds) for each in results]),
        "seed": np.concatenate([each.seeds for each in results]),
        "return": np.concatenate([each.returns for each in results]),
        "regret": np.concatenate([each.regrets for each in results]),
    }


def _decision_rows(result: Result) -> Iterator[dict[str, Any]]:
    seed = int(result.seeds[0]) if len(result.seeds) else 0
    for t, decision in result.decisions:
        yield {
            "cell": result.key,
            "seed": seed,
            "t": t,
            "updated": decision.update,
            "score": decision.score,
            "threshold": decision.threshold,
            "terms": canonical(decision.finite_terms),
            "reason": decision.reason,
        }
