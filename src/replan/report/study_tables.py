"""The tables of any run: every cell as CSV, and regret by setting and rule as Markdown.

They come from the store alone and hold no times, so that the same results give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan
from pathlib import Path

from replan.report.reports import csv_line
from replan.results.key import BEST_POSSIBLE, Record, Variant
from replan.results.pivot import Pivot, group, pivot
from replan.results.run import Run, failed
from replan.results.table import Table, TableCell, least_in_bold, number, write_csv, write_whole

MEASURED = {
    "exact_regret": "exact regret",
    "sampled_regret": "sampled regret",
    "priced_regret": "exact regret plus the price of the updates",
}
PLACEMENT = ("precision", "coverage", "mean stale drift", "max stale drift")


def write_study_tables(run: Run, folder: Path) -> list[Path]:
    """Write cells.csv, regret.md and where it was measured placement.md; returns the files."""
    files = [write_csv(folder / "cells.csv", [csv_line(record) for record in run.records])]
    for name, tables in (("regret", regret_tables(run)), ("placement", placement_tables(run))):
        if text := "\n".join(table.markdown() for table in tables):
            files.append(write_whole(folder / f"{name}.md", text))
    return files


def regret_tables(run: Run) -> Iterable[Table]:
    """Return regret by setting and rule, exact and sampled, a table for each variant of the robot.

    Missions with prices have a further table, of regret plus the price of the updates.
    """
    for (variant,), records in group(run.records, Variant.of).items():
        for key, words in MEASURED.items():
            if any(record[key] is not None for record in records):
                yield _regret_table(f"{run.name}: {words}, {variant.title()}", records, key)


def _regret_table(title: str, records: Sequence[Record], key: str) -> Table:
    found = pivot(records, ["setting"], "rule", key, least=True)
    lost = {(record["setting"], record["rule"]) for record in records if failed(record)}
    settings, rules = (
        list(dict.fromkeys(record[name] for record in records)) for name in ("setting", "rule")
    )
    shown = {*found.columns, *(rule for _, rule in lost)}
    rules = [rule for rule in rules if rule in shown or rule != BEST_POSSIBLE]  # with prices it has no regret
    rules.sort(key=lambda rule: rule == BEST_POSSIBLE)
    notes = []
    if lost:
        notes.append("`failed`: see the failures of the run.")
    if any(len(each) > 1 for each in found.records.values()):
        notes.append("Of a rule with a grid the least value of the grid is shown, with its size.")
    rows = [(setting, *_row(found, setting, rules, lost)) for setting in settings]
    return Table(title, ("setting", *rules), rows, notes)


def _row(found: Pivot, setting: str, rules: Sequence[str], lost: set[tuple[str, str]]) -> list[TableCell]:
    """Return one setting: a rule's value, or the least of its grid; the least of all rules in bold."""
    values = [found[(setting,), rule] for rule in rules]
    cells = least_in_bold(
        [None if rule == BEST_POSSIBLE else value for rule, value in zip(rules, values, strict=True)], ".4f"
    )
    row = []
    for rule, value, cell in zip(rules, values, cells, strict=True):
        size = len(found.all((setting,), rule))
        shown = number(value, ".4f").text + (f" ({size})" if size > 1 else "")
        row.append(
            TableCell("failed" if (setting, rule) in lost else "")
            if value is None
            else TableCell(shown, best=cell.best)
        )
    return row


def placement_tables(run: Run) -> Iterable[Table]:
    """Return the figures of the paper's Table 2 by rule: precision of all updates, means of the rest."""
    measured = [record for record in run.records if record["schedules"] is not None]
    for (variant,), records in group(measured, Variant.of).items():
        rows = [
            (label, *(f"{value:.4f}" for value in pooled_placement(cells)))
            for (label,), cells in group(records, "label").items()
        ]
        yield Table(f"{run.name}: placement of updates, {variant.title()}", ("rule", *PLACEMENT), rows)


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
