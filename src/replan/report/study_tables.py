"""The tables of any run: every cell as CSV, and regret by setting and rule as Markdown.

They come from the store alone and hold no times, so that the same results give the same bytes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import nan
from pathlib import Path
from typing import Any

from replan.report.files import write_whole
from replan.report.tables import Cell, Table, least_in_bold, number, write_csv
from replan.study.cells import BEST_POSSIBLE
from replan.study.records import Record, Run
from replan.study.store_tables import JSON_COLUMNS

CELLS = (
    "setting", "rule", "label", "registered_rule", "execution", "forecast", "estimator", "stated_bounds",
    "parameters", "validation", "validation_regret", "candidates", "oracle_return", "exact_regret",
    "regret_share", "dynamic_regret", "samples", "sampled_regret", "standard_error", "low", "high",
    "schedules", "updates", "updates_inside", "intervals", "intervals_met", "mean_stale_drift",
    "max_stale_drift", "times", "decomposition", "optimum", "certificate", "flights", "expected_updates",
    "objective", "priced_regret",
)  # fmt: skip
MEASURED = {
    "exact_regret": "exact regret",
    "sampled_regret": "sampled regret",
    "priced_regret": "exact regret plus the price of the updates",
}
PLACEMENT = ("precision", "coverage", "mean stale drift", "max stale drift")


def write_study_tables(run: Run, folder: Path) -> list[Path]:
    """Write cells.csv, regret.md and where it was measured placement.md; returns the files."""
    files = [write_csv(folder / "cells.csv", [flat(record) for record in run.records])]
    if regrets := [table.markdown() for table in regret_tables(run)]:
        files.append(write_whole(folder / "regret.md", "\n".join(regrets)))
    if any(record["schedules"] is not None for record in run.records):
        files.append(write_whole(folder / "placement.md", "\n".join(_placement_tables(run))))
    return files


def flat(record: Record) -> dict[str, Any]:
    """Return the record as one line of a CSV file; data as JSON, ways flown left out."""
    line = {name: record.get(name) for name in CELLS}
    if line["flights"]:
        line["flights"] = line["flights"]["outcomes"]
    return line | {name: json.dumps(line[name]) for name in JSON_COLUMNS if line.get(name) is not None}


def _groups(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records that make one table, by its name."""
    groups = defaultdict(list)
    for record in records:
        expected = "" if record["forecast"] in (None, "frozen") else f", forecast {record['forecast']}"
        stated = "" if record["stated_bounds"] == "right" else f", stated bounds {record['stated_bounds']}"
        name = f"execution {record['execution']}, estimator {record['estimator']}{expected}{stated}"
        groups[name].append(record)
    return groups


def regret_tables(run: Run) -> Iterable[Table]:
    """Return regret by setting and rule, exact and sampled; a table for each execution, estimator, ...

    Missions with prices have a further table, of regret plus the price of the updates.
    """
    for where, group in _groups(run.records).items():
        for key, words in MEASURED.items():
            if any(record[key] is not None for record in group):
                yield _regret_table(f"{run.name}: {words}, {where}", group, key)


def _regret_table(title: str, group: Sequence[Record], key: str) -> Table:
    cells = defaultdict(list)
    for record in group:
        if record[key] is not None or record["parameters"] is None:
            cells[record["setting"], record["rule"]].append(record)
    settings, rules = (list(dict.fromkeys(record[name] for record in group)) for name in ("setting", "rule"))
    rules.sort(key=lambda rule: rule == BEST_POSSIBLE)
    notes = []
    if any(record["parameters"] is None for record in group):
        notes.append("`failed`: see the failures of the run.")
    if any(len(found) > 1 for found in cells.values()):
        notes.append("Of a rule with a grid the least value of the grid is shown, with its size.")
    rows = [(setting, *_row({rule: cells[setting, rule] for rule in rules}, key)) for setting in settings]
    return Table(title, ("setting", *rules), rows, notes)


def _row(entries: dict[str, list[Record]], key: str) -> list[Cell]:
    """One setting: a rule's value, or the least of its grid; the least of all rules in bold."""
    least = {
        rule: min((r[key] for r in found if r[key] is not None), default=None)
        for rule, found in entries.items()
    }
    floor = least.pop(BEST_POSSIBLE, None)
    cells = [*least_in_bold(list(least.values()), ".4f"), number(floor, ".4f")]
    return [
        Cell(_missing(found)) if cell.value is None else Cell(_with_size(cell.text, found), best=cell.best)
        for cell, found in zip(cells, entries.values(), strict=False)
    ]


def _missing(found: list[Record]) -> str:
    return "failed" if any(record["parameters"] is None for record in found) else ""


def _with_size(text: str, found: list[Record]) -> str:
    return f"{text} ({len(found)})" if len(found) > 1 else text


def _placement_tables(run: Run) -> Iterable[str]:
    """Per rule over all settings as in the paper's Table 2: precision of all updates, means of the rest."""
    for where, group in _groups(run.records).items():
        rows = []
        for label in dict.fromkeys(record["label"] for record in group):
            cells = [r for r in group if r["label"] == label and r["schedules"] is not None]
            if cells:
                rows.append((label, *(f"{value:.4f}" for value in pooled_placement(cells))))
        if rows:
            title = f"{run.name}: placement of updates, {where}"
            yield Table(title, ("rule", *PLACEMENT), rows).markdown()


def pooled_placement(cells: Sequence[Record]) -> tuple[float, float, float, float]:
    """Return Table 2's figures over settings; each counts once, however many schedules its seeds made."""
    updates = sum(r["updates"] / r["schedules"] for r in cells)
    inside = sum(r["updates_inside"] / r["schedules"] for r in cells)
    coverages = [r["intervals_met"] / r["intervals"] for r in cells if r["intervals"]]
    return (
        inside / updates if updates else nan,
        sum(coverages) / len(coverages) if coverages else nan,
        sum(r["mean_stale_drift"] for r in cells) / len(cells),
        sum(r["max_stale_drift"] for r in cells) / len(cells),
    )
