"""The tables of any run: regret by setting and rule, and below it the cells at length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from replan.report.page.headline import Regrets
from replan.results.key import BEST_POSSIBLE, Record, differing
from replan.results.measure import result_columns
from replan.results.table import MISSING, Table, TableCell, least_in_bold, number

SETTINGS_SHOWN = 300  # at most, so that the page of a large run stays quick
CELLS_SHOWN = 500
FIRST = ("setting", "rule", "label", "exact_regret", "regret_share", "sampled_regret", "dynamic_regret")
WIDEST = "parameters"


def rule_table(regrets: Regrets, *, printed: Regrets, notes: Sequence[str] = ()) -> Table:
    """Return one line for each setting, one column for each rule; printed figures stand small beside ours."""
    rules = list(dict.fromkeys(rule for row in regrets.values() for rule in row))
    rules.sort(key=lambda rule: rule.startswith(BEST_POSSIBLE))
    compared = [rule for rule in rules if not rule.startswith(BEST_POSSIBLE)]
    rows = []
    for setting, row in list(regrets.items())[:SETTINGS_SHOWN]:
        cells = least_in_bold([row.get(rule) for rule in compared])
        paper = printed.get(setting, {})
        marked = [
            replace(cell, beside=f"paper {paper[rule]:.2f}" if rule in paper else "")
            for cell, rule in zip(cells, compared, strict=True)
        ]
        rows.append((setting, *marked, *(number(row.get(rule)) for rule in rules[len(compared) :])))
    legend = "In bold: the least of its row. Exact where it was computed, else the mean over the seeds."
    if printed:
        legend += " In small print: the paper's figure, a mean over missions."
    cut = [f"The first {len(rows)} of {len(regrets)} settings."] if len(rows) < len(regrets) else []
    return Table("Regret of each rule", ("setting", *rules), rows, (legend, *cut, *notes), name="regrets")


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
    return Table("The cells of the run at length", heads, rows, notes, name="records-long")


def _columns(records: Sequence[Record]) -> list[str]:
    """Return the names and numbers that any record has, what matters most first and what is widest last."""
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
