"""The tables of any run: regret by setting and rule, and below it the cells at length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from replan.report.page.headline import Regrets
from replan.report.tables import MISSING, Cell, Table, least_in_bold, number
from replan.study.cells import BEST_POSSIBLE
from replan.study.store_tables import JSON_COLUMNS

SETTINGS_SHOWN = 300  # at most, so that the page of a large run stays quick
CELLS_SHOWN = 500
FIRST = (
    "setting",
    "rule",
    "label",
    "exact_regret",
    "regret_share",
    "sampled_regret",
    "dynamic_regret",
    "execution",
    "estimator",
)
WIDEST = "parameters"
HIDDEN = frozenset(
    {
        "registered_rule",
        "digest",
        "source",
        "position",
        "cell",
        "identity",
        "measure",
        "first_seed",
        "seeds",
        *JSON_COLUMNS,
    }
) - {"parameters"}
USUAL = {"stated_bounds": "right"}  # columns that are left out where nothing differs

Record = Mapping[str, Any]


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


def records_table(best: Sequence[Record], *, total: int) -> Table:
    """Return one line for each setting and rule; columns that say nothing are left out."""
    shown = best[:CELLS_SHOWN]
    columns = _columns(shown)
    rows = [[_cell(key, record.get(key)) for key in columns] for record in shown]
    heads = [column.replace("_", " ") for column in columns]
    which = ", of each setting and rule the best" if len(best) < total else ""
    cut = f"{len(shown)} of {total} cells are shown{which}. All are in the tables and the store of the run."
    notes = [cut] if len(shown) < total else []
    return Table("The cells of the run at length", heads, rows, notes, name="records-long")


def _columns(records: Sequence[Record]) -> list[str]:
    """Those with a value in any record, what matters most first, and what is widest last."""
    present = list(dict.fromkeys(key for record in records for key, x in record.items() if x is not None))
    hidden = set(HIDDEN)
    hidden |= {key for key, usual in USUAL.items() if all(record.get(key) == usual for record in records)}
    if "label" in present:  # the rule's name with the point of its grid, where it has one
        hidden.add("label" if all(record["label"] == record["rule"] for record in records) else "rule")
    ordered = dict.fromkeys((*FIRST, *(key for key in present if key != WIDEST), WIDEST))
    return [key for key in ordered if key in present and key not in hidden]


def _cell(key: str, value: Any) -> Cell:
    if value is None:
        return Cell(MISSING)
    if key == "parameters":
        return Cell(_listed(value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value, ".4g")
    return Cell(str(value))


def _listed(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in parameters.items() if value is not None)
