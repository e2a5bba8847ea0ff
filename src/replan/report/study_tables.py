"""The tables of any run, in files (cells as CSV, regret by setting and rule as Markdown) and on the page.

The files come from the store only and hold no times, so that the same results give the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

from replan.commands import write_whole
from replan.evaluation.scale import NEXT_TO_NOTHING
from replan.report.regret_words import Regrets
from replan.report.reports import csv_line
from replan.results.key import BEST_POSSIBLE, Record, Variant, differing
from replan.results.measure import result_columns
from replan.results.pivot import Pivot, group, pivot
from replan.results.run import Run, failed
from replan.results.table import MISSING, Table, TableCell, least_in_bold, number, write_csv

MEASURED = {
    "exact_regret": "exact regret",
    "sampled_regret": "sampled regret",
    "priced_regret": "exact regret plus the price of the updates",
}
NO_WINNER = (
    "No winner is marked where replanning makes no difference: where never updating loses less than "
    f"{NEXT_TO_NOTHING:g} of the span of the rewards."
)
SETTINGS_SHOWN = 300  # at most, so that the page of a large run stays quick
CELLS_SHOWN = 500
FIRST = ("setting", "rule", "label", "exact_regret", "regret_share", "sampled_regret", "dynamic_regret")
WIDEST = "parameters"
PLACEMENT = ("precision", "coverage", "mean stale drift", "max stale drift")


def write_study_tables(run: Run, folder: Path) -> list[Path]:
    """Write cells.csv, regret.md and, if it was measured, placement.md; returns the files."""
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
    same = idle_settings(records)
    notes += [NO_WINNER] if same else []
    rows = [(setting, *_row(found, setting, rules, lost, marked=setting not in same)) for setting in settings]
    return Table(title, ("setting", *rules), rows, notes)


def idle_settings(records: Iterable[Record]) -> set[str]:
    """Return the settings in which replanning makes no difference to any robot of the records."""
    found = group(records, "setting")
    return {
        name for (name,), each in found.items() if all(r.get("makes_a_difference") is False for r in each)
    }


def _row(
    found: Pivot, setting: str, rules: Sequence[str], lost: set[tuple[str, str]], *, marked: bool
) -> list[TableCell]:
    """Return one setting: a rule's value, or the least of its grid; if `marked`, the least of all in bold."""
    values = [found[(setting,), rule] for rule in rules]
    cells = least_in_bold(
        [None if rule == BEST_POSSIBLE else value for rule, value in zip(rules, values, strict=True)], ".4f"
    )
    row = []
    for rule, value, cell in zip(rules, values, cells, strict=True):
        size = len(found.all((setting,), rule))
        shown = number(value, "z.4f").text + (f" ({size})" if size > 1 else "")
        row.append(
            TableCell("failed" if (setting, rule) in lost else "")
            if value is None
            else TableCell(shown, best=cell.best and marked)
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


def rule_table(
    regrets: Regrets, *, printed: Regrets, notes: Sequence[str] = (), same: Collection[str] = ()
) -> Table:
    """Return one line for each setting, one column for each rule; printed figures stand small beside ours.

    In the settings `same` replanning makes no difference and no rule is marked.
    """
    rules = list(dict.fromkeys(rule for row in regrets.values() for rule in row))
    rules.sort(key=lambda rule: rule.startswith(BEST_POSSIBLE))
    compared = [rule for rule in rules if not rule.startswith(BEST_POSSIBLE)]
    rows = []
    for setting, row in list(regrets.items())[:SETTINGS_SHOWN]:
        cells = least_in_bold([row.get(rule) for rule in compared])
        paper = printed.get(setting, {})
        marked = [
            replace(
                cell,
                beside=f"paper {paper[rule]:.2f}" if rule in paper else "",
                best=cell.best and setting not in same,
            )
            for cell, rule in zip(cells, compared, strict=True)
        ]
        rows.append((setting, *marked, *(number(row.get(rule)) for rule in rules[len(compared) :])))
    legend = "In bold: the least of its row. Exact values; where only simulations exist, their mean."
    if printed:
        legend += " In small print: the paper's figure, a mean over missions."
    cut = [f"The first {len(rows)} of {len(regrets)} settings."] if len(rows) < len(regrets) else []
    notes = (legend, *([NO_WINNER] if same else []), *cut, *notes)
    return Table("Regret of each rule", ("setting", *rules), rows, notes, name="regrets")


def cells_table(best: Sequence[Record], *, total: int) -> Table:
    """Return one line for each setting and rule; columns that say nothing are left out."""
    shown = best[:CELLS_SHOWN]
    columns = _columns(shown)
    known = result_columns()
    rows = [
        [_cell(record.get(key), known[key].shown.form if key in known else "") for key in columns]
        for record in shown
    ]
    heads = [known[key].heading if key in known else key.replace("_", " ") for key in columns]
    which = ", of each setting and rule the best" if len(best) < total else ""
    cut = f"{len(shown)} of {total} cells are shown{which}. All are in the tables and the store of the run."
    notes = [cut] if len(shown) < total else []
    return Table("All results of this run", heads, rows, notes, name="records-long")


def _columns(records: Sequence[Record]) -> list[str]:
    """Return the columns that any record has, the most important first and the widest last."""
    numbers = [name for name, each in result_columns().items() if each.type != "json"]
    label = "rule" if all(record.get("label") in (None, record["rule"]) for record in records) else "label"
    names = ["setting", label, *dict.fromkeys(["execution", "estimator", *differing(records)])]
    ordered = dict.fromkeys([*(key for key in FIRST if key in (*names, *numbers)), *names, *numbers, WIDEST])
    return [key for key in ordered if any(record.get(key) is not None for record in records)]


def _cell(value: Any, form: str) -> TableCell:
    if value is None:
        return TableCell(MISSING)
    if isinstance(value, Mapping):
        return TableCell(", ".join(f"{name} {each}" for name, each in value.items() if each is not None))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value, form)
    return TableCell(str(value))
