"""The tables of any run: regret by setting and rule, and below it the cells at length."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from replan.report.page.headline import SAME, Regrets
from replan.report.page.sortable import MISSING, Cell, SortableTable, number

SETTINGS_SHOWN = 300  # at most, so that the page of a large run stays quick
CELLS_SHOWN = 500
FIRST = (
    "setting",
    "rule",
    "label",
    "exact_regret",
    "sampled_regret",
    "dynamic_regret",
    "execution",
    "estimator",
)
WIDEST = "parameters"
HIDDEN = frozenset({"times", "decisions", "registered_rule"})

Record = Mapping[str, Any]


def rule_table(regrets: Regrets, *, notes: Sequence[str] = ()) -> SortableTable:
    """One line for each setting, one column for each rule."""
    rules = list(dict.fromkeys(rule for row in regrets.values() for rule in row))
    shown = list(regrets.items())[:SETTINGS_SHOWN]
    rows = []
    for setting, row in shown:
        least = min(row.values())
        cells = [number(row.get(rule), best=rule in row and row[rule] <= least + SAME) for rule in rules]
        rows.append((Cell(setting), *cells))
    cut = [f"The first {len(shown)} of {len(regrets)} settings."] if len(shown) < len(regrets) else []
    legend = "In bold: the least of its row. Exact where it was computed, else the mean over the seeds."
    return SortableTable("regrets", "Regret of each rule", ("setting", *rules), rows, (legend, *cut, *notes))


def records_table(best: Sequence[Record], *, total: int, all_in: str) -> SortableTable:
    """One line for each setting and rule, columns that say nothing left out; `all_in` says where all are."""
    shown = best[:CELLS_SHOWN]
    columns = _columns(shown)
    rows = [[_cell(key, record.get(key)) for key in columns] for record in shown]
    heads = [column.replace("_", " ") for column in columns]
    which = ", of each setting and rule the best" if len(best) < total else ""
    cut = f"{len(shown)} of {total} cells are shown{which}. All are in {all_in}."
    notes = [cut] if len(shown) < total else []
    return SortableTable("records-long", "The cells of the run at length", heads, rows, notes)


def _columns(records: Sequence[Record]) -> list[str]:
    """Those with a value in any record, what matters most first, and what is widest last."""
    present = list(dict.fromkeys(key for record in records for key, x in record.items() if x is not None))
    hidden = set(HIDDEN)
    if "label" in present:  # the rule's name with the point of its grid, where it has one
        hidden.add("label" if all(record["label"] == record["rule"] for record in records) else "rule")
    ordered = dict.fromkeys((*FIRST, *(key for key in present if key != WIDEST), WIDEST))
    return [key for key in ordered if key in present and key not in hidden]


def _cell(key: str, value: Any) -> Cell:
    if value is None:
        return Cell(MISSING)
    if key == "parameters":
        return Cell(_listed(json.loads(value) if isinstance(value, str) else value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value, ".4g")
    return Cell(str(value))


def _listed(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in parameters.items() if value is not None)
