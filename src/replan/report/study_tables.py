"""The tables of a run: every cell as CSV, and regret by setting and rule as Markdown.

They come from the store alone and hold no times, so that the same results give the same bytes.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from replan.report.files import write_whole
from replan.report.tables import Table, bold
from replan.study.store import Store

CELLS = """
    select c.setting, c.rule, c.label, c.registered_rule, c.execution, c.estimator, r.parameters,
           r.validation_regret, r.candidates, r.oracle_return, r.exact_regret, r.dynamic_regret,
           r.samples, r.sampled_regret, r.standard_error,
           r.low, r.high, r.schedules, r.updates, r.updates_inside, r.intervals, r.intervals_met,
           r.mean_stale_drift, r.max_stale_drift
    from cells c left join results r using (cell) order by c.position
"""
REGRETS = {"exact_regret": "exact regret", "sampled_regret": "sampled regret"}
PLACEMENTS = ("precision", "coverage", "mean stale drift", "max stale drift")


def write_study_tables(store: Store, folder: Path) -> list[Path]:
    """cells.csv, regret.md and where it was measured placement.md; the files written."""
    columns, rows = store.query(CELLS)
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    name = store.execute("select value from meta where key = 'study'")[0][0]
    files = {"cells.csv": _csv(columns, records), "regret.md": "\n".join(_regret_tables(name, records))}
    if any(record["schedules"] is not None for record in records):
        files["placement.md"] = "\n".join(_placement_tables(name, records))
    return [write_whole(folder / file, text) for file, text in files.items()]


def _csv(columns: list[str], records: list[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for record in records:
        writer.writerow([f"{x:.10g}" if isinstance(x, float) else x for x in record.values()])
    return buffer.getvalue()


def _groups(records: Iterable[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    groups = defaultdict(list)
    for record in records:
        groups[record["execution"], record["estimator"]].append(record)
    return groups


def _regret_tables(name: str, records: list[dict[str, Any]]) -> Iterable[str]:
    for (execution, estimator), group in _groups(records).items():
        rules = list(dict.fromkeys(record["rule"] for record in group))
        settings = list(dict.fromkeys(record["setting"] for record in group))
        entries = defaultdict(list)
        for record in group:
            entries[record["setting"], record["rule"]].append(record)
        for key, words in REGRETS.items():
            if all(record[key] is None for record in group):
                continue
            notes = (
                ["`failed`: see the failures of the run."]
                if any(r["parameters"] is None for r in group)
                else []
            )
            if any(len(cells) > 1 for cells in entries.values()):
                notes.append("Of a rule with a grid the least value of the grid is shown, with its size.")
            yield Table(
                f"{name}: {words}, execution {execution}, estimator {estimator}",
                ("setting", *rules),
                tuple((s, *_row([entries[s, rule] for rule in rules], key)) for s in settings),
                tuple(notes),
            ).markdown()


def _row(entries: list[list[dict[str, Any]]], key: str) -> list[str]:
    """One setting: a rule's value, or the least of its grid; the least of all in bold."""
    least = [min((r[key] for r in cells if r[key] is not None), default=None) for cells in entries]
    shown = [
        "failed" if value is None else f"{value:.4f}" + (f" ({len(cells)})" if len(cells) > 1 else "")
        for value, cells in zip(least, entries, strict=True)
    ]
    best = min((value for value in least if value is not None), default=None)
    return [
        bold(text) if value is not None and best is not None and value <= best + 1e-9 else text
        for text, value in zip(shown, least, strict=True)
    ]


def _placement_tables(name: str, records: list[dict[str, Any]]) -> Iterable[str]:
    """Per rule over all settings as in the paper's Table 2: precision of all updates, means of the rest."""
    for (execution, estimator), group in _groups(records).items():
        rows = []
        for label in dict.fromkeys(record["label"] for record in group):
            cells = [r for r in group if r["label"] == label and r["schedules"] is not None]
            if cells:
                rows.append((label, *(f"{value:.4f}" for value in _pooled(cells))))
        title = f"{name}: placement of updates, execution {execution}, estimator {estimator}"
        yield Table(title, ("rule", *PLACEMENTS), tuple(rows)).markdown()


def _pooled(cells: list[dict[str, Any]]) -> tuple[float, float, float, float]:
    """A setting counts once, however many schedules its seeds made."""
    updates = sum(r["updates"] / r["schedules"] for r in cells)
    inside = sum(r["updates_inside"] / r["schedules"] for r in cells)
    coverages = [r["intervals_met"] / r["intervals"] for r in cells if r["intervals"]]
    return (
        inside / updates if updates else float("nan"),
        sum(coverages) / len(coverages) if coverages else float("nan"),
        sum(r["mean_stale_drift"] for r in cells) / len(cells),
        sum(r["max_stale_drift"] for r in cells) / len(cells),
    )
