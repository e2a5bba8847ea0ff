"""Reports: tables and figures of the studies that come with replan. A new table is one function here.

Every file registers its functions in `REPORTS` under the name of its study.
"""

from __future__ import annotations

import csv
import json
import pkgutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from typing import Any, TypeVar

from replan.results.key import Record, RecordKey
from replan.results.measure import result_columns
from replan.results.run import Run
from replan.results.table import Table, write_csv, write_tables

Tables = dict[str, list[Table]]
"""Tables by the name of their file."""
EQUAL = "-equal"
"""End of the names of studies in which every rule has equally many candidates."""

TableMaker = Callable[[Run], Table | list[Table]]
"""Makes a table, or several, of a run."""
Maker = TypeVar("Maker", bound=TableMaker)
FigureMaker = Callable[[Run, Path], object]
"""Draws a run into a folder."""
ColumnMaker = Callable[[Run], list[dict[str, Any]]]
"""Makes further columns of the CSV file, record by record."""


@dataclass(frozen=True)
class Report:
    """Tables and figures that are made from the run of a study."""

    tables: dict[str, TableMaker] = field(default_factory=dict)
    """By the name of their file."""
    figures: list[FigureMaker] = field(default_factory=list)
    columns: list[ColumnMaker] = field(default_factory=list)


REPORTS: dict[str, Report] = defaultdict(Report)
"""Reports by study."""


def table_of(study: str, file: str) -> Callable[[Maker], Maker]:
    """Register a function as the table that FILE.md of a study holds."""

    def register(function: Maker) -> Maker:
        REPORTS[study].tables[file] = function
        return function

    return register


@cache
def reports() -> Mapping[str, Report]:
    """Load the reports that come with replan and return them by study."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return REPORTS


def write_reproduction(run: Run, folder: Path, *, figures: bool = True) -> Tables:
    """Write the tables of a study, its cells as CSV and its figures; returns the tables."""
    study = run.name.removesuffix(EQUAL)
    end, report = run.name.removeprefix(study), reports()[study]
    tables: Tables = {}
    for file, make in report.tables.items():
        made = make(run)
        tables[file] = made if isinstance(made, list) else [made]
        write_tables(folder, f"{file}{end}", tables[file])
    lines = [csv_line(record) for record in run.records]
    for make in report.columns:
        lines = [line | more for line, more in zip(lines, make(run), strict=True)]
    write_csv(folder / f"{run.name}.csv", lines)
    for draw in report.figures if figures else ():
        draw(run, folder)
    return tables


def csv_line(record: Record) -> dict[str, Any]:
    """Return the record as a line of a CSV file: its key, its source and its measures, data as JSON."""
    names = [
        *RecordKey.names(),
        "registered_rule",
        *(name for name, each in result_columns().items() if each.shown.in_csv),
    ]
    values = {name: record.get(name) for name in names}
    return {
        name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in values.items()
    }


def reference(name: str) -> list[dict[str, str]]:
    """Return the rows of a file of reference results, in the folder `reference`."""
    file = resources.files("replan.report") / "reference" / f"{name}.csv"
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


@cache
def paper_regrets() -> dict[str, dict[str, float]]:
    """Return the regrets of the paper's Table 1 by setting and rule: means over 1000 held-out seeds."""
    rows = reference("paper-table1")
    return {row.pop("setting"): {rule: float(value) for rule, value in row.items()} for row in rows}


def paper_rules() -> list[str]:
    """Return the paper's nine rules, in its order."""
    return list(next(iter(paper_regrets().values())))


def listed(values: Sequence[str | float]) -> str:
    """Return values with commas between them."""
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
