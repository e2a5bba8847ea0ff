"""The files of a reproduction: the tables and figures of each study that comes with replan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from replan.report.beyond_table import causes_table, regret_table
from replan.report.curves import certificate_figure, certificate_table
from replan.report.forecast_tables import forecast_figure, forecast_table, totals_table
from replan.report.learning_tables import bounds_table, learned_table, stated_table
from replan.report.paper_figures import write_figures
from replan.report.paper_tables import differences, table_1, table_2
from replan.report.rats_tables import budget_table, published_table
from replan.report.study_tables import flat
from replan.report.style import save
from replan.report.tables import Table, write_csv, write_tables
from replan.study.records import Run

Tables = dict[str, Sequence[Table]]  # by the name of their file

EQUAL = "-equal"  # end of the names of studies with as many candidates for every rule


TABLES: dict[str, Callable[[Run], Tables]] = {
    "beyond": lambda run: {"beyond": [regret_table(run)], "beyond-parts": [causes_table(run)]},
    "learning": lambda run: {
        "learning": [learned_table(run)],
        "learning-bounds": [bounds_table(run)],
        "learning-told": [stated_table(run)],
    },
    "certificates": lambda run: {"certificates": [certificate_table(run)]},
    "rats": lambda run: {"rats": [published_table(), budget_table(run)]},
    "forecast": lambda run: {"forecast": [forecast_table(run)], "forecast-totals": [totals_table(run)]},
}
FIGURES: dict[str, Callable[[Run, Path], object]] = {
    "table1": write_figures,
    "forecast": lambda run, folder: save(forecast_figure(run), folder, "forecast"),
    "certificates": lambda run, folder: save(certificate_figure(run), folder, "certificates"),
}


def write_reproduction(run: Run, folder: Path, *, past: Run | None = None, figures: bool = True) -> Tables:
    """Write the tables of a study, its cells as CSV and its figures; returns the tables.

    `past` is the study `lookahead`, with which Table 1 ends.
    """
    study = run.name.removesuffix(EQUAL)
    if study == "table1":
        tables: Tables = {"table1": [table_1(run, past)], "table2": [table_2(run)]}
    else:
        tables = TABLES[study](run)
    end = EQUAL if run.name.endswith(EQUAL) else ""
    for name, parts in tables.items():
        write_tables(folder, f"{name}{end}", parts)
    more = differences(run) if study == "table1" else [{}] * len(run.records)
    lines = [flat(record) | extra for record, extra in zip(run.records, more, strict=True)]
    write_csv(folder / f"{run.name}.csv", lines)
    if figures and study in FIGURES:
        FIGURES[study](run, folder)
    return tables
