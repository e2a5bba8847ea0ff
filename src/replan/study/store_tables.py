"""The tables of a store: their columns, and how outcomes become rows of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from replan.study.cells import Entry, canonical
from replan.study.work import Failure, Outcome, Result

Columns = dict[str, Any]  # name -> one value a row, as a list or an array

TABLES = {
    "meta": "key text primary key, value text",
    "starts": "start integer primary key, began timestamp, engine text, workers integer, versions json, "
    "stored integer, missing integer",
    "settings": "setting text, data json, forecast text",
    "cells": "position integer, cell bigint, identity text, setting text, rule text, label text, "
    "execution text, estimator text, given json, search text, measure text, first_seed bigint, "
    "seeds integer, registered_rule text, stated_bounds text, digest text, source text, forecast text",
    "results": "cell bigint primary key, parameters json, validation_regret double, candidates integer, "
    "oracle_return double, exact_regret double, dynamic_regret double, samples integer, "
    "sampled_regret double, standard_error double, low double, high double, schedules integer, "
    "updates integer, updates_inside integer, intervals integer, intervals_met integer, "
    "mean_stale_drift double, max_stale_drift double, validation json, times json, decomposition json, "
    "optimum json, certificate json, flights json, regret_share double, expected_updates double, "
    "objective double, priced_regret double, candidate_regrets json",
    "samples": 'cell bigint, seed bigint, "return" double, regret double',
    "decisions": "cell bigint, seed bigint, t integer, updated boolean, score double, threshold double, "
    "terms json, reason text",
    "timings": "cell bigint, start integer, seconds double, cpu_seconds double, worker text, "
    "finished timestamp",
    "failures": "cell bigint, start integer, reason text",
}

JSON_COLUMNS = (
    "given",
    "parameters",
    "validation",
    "times",
    "decomposition",
    "optimum",
    "certificate",
    "flights",
    "candidate_regrets",
)
_TEXT = ("text", "json")


def settings_columns(entries: Sequence[Entry]) -> Columns:
    """Every setting of the study with its data, once for each forecast."""
    settings = {(entry.setting, entry.cell.forecast): entry.cell.setting for entry in entries}
    return {
        "setting": [setting for setting, _ in settings],
        "data": list(settings.values()),
        "forecast": [forecast for _, forecast in settings],
    }


def cells_columns(entries: Sequence[Entry]) -> Columns:
    """Return the columns that describe every cell of the study."""
    return _columns(_cell_row(entry) for entry in entries)


def outcome_columns(outcomes: Sequence[Outcome], *, start: int) -> dict[str, Columns]:
    """Return the rows that outcomes of the start of that number add to each table."""
    results = [outcome for outcome in outcomes if isinstance(outcome, Result)]
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    return {
        "results": _columns({"cell": each.key, **each.values} for each in results),
        "samples": _samples(results),
        "decisions": _columns(chain.from_iterable(map(_decision_rows, results))),
        "failures": _columns({"cell": each.key, "start": start, "reason": each.reason} for each in failures),
        "timings": _columns(
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


def readable(table: str, columns: Columns) -> tuple[dict[str, np.ndarray], list[str]]:
    """Arrays that DuckDB reads, and what to select from them: NaN stands for a missing number."""
    types = dict(part.strip().split(" ")[:2] for part in TABLES[table].replace('"', "").split(","))
    incoming, selected = {}, []
    for name, values in columns.items():
        if types[name] in _TEXT:
            incoming[name] = np.array(values, dtype=object)
            selected.append(f'"{name}"')
        elif isinstance(values, np.ndarray) or types[name] in ("bigint", "boolean"):
            incoming[name] = np.asarray(values)
            selected.append(f'"{name}"')
        else:
            incoming[name] = np.array([np.nan if v is None else v for v in values], dtype=float)
            selected.append(f'if(isnan("{name}"), null, "{name}")')
    return incoming, selected


def _columns(made: Iterable[dict[str, Any]]) -> Columns:
    rows = list(made)
    names = dict.fromkeys(chain.from_iterable(rows))
    return {name: [row.get(name) for row in rows] for name in names}


def _cell_row(entry: Entry) -> dict[str, Any]:
    cell = entry.cell
    return {
        "position": entry.position,
        "cell": cell.key,
        "identity": cell.identity,
        "setting": entry.setting,
        "rule": entry.rule,
        "label": entry.label,
        "execution": cell.execution,
        "estimator": cell.estimator,
        "given": cell.given,
        "search": cell.search,
        "measure": ",".join(cell.measure),
        "first_seed": cell.seeds[0],
        "seeds": cell.seeds[1],
        "registered_rule": cell.rule,
        "stated_bounds": cell.stated_bounds,
        "digest": cell.digest,
        "source": cell.source,
        "forecast": cell.forecast,
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
            "terms": canonical({name: float(value) for name, value in decision.terms.items()}),
            "reason": decision.reason,
        }
