"""`replan results`: SQL queries on the store of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.common import JsonOption
from replan.commands.output import emit

OVERVIEW = """
    select setting, label as rule, execution, estimator, columns('^(forecast|stated_bounds)$'),
        columns('exact_regret|regret_share|sampled_regret|standard_error'), parameters
    from cells join results using (cell) order by position
"""  # columns(...) also reads stores that lack one of them


def command(
    run: Annotated[Path, typer.Argument(help="The folder of a run.")],
    query: Annotated[str | None, typer.Argument(help="SQL; the regret of every cell if not given.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the answer of a query on the tables meta, settings, cells, results, samples, decisions, ..."""
    from replan.study.store import Store

    with Store.open(run) as store:
        columns, rows = store.query(query or OVERVIEW, isolated=True)
    answer = {"columns": columns, "rows": [[_json(value) for value in row] for row in rows]}
    emit(answer, as_json=as_json, lines=_aligned(columns, rows))


def _json(value: object) -> object:
    return value if isinstance(value, (int, float, str, bool, list, dict, type(None))) else str(value)


def _aligned(columns: list[str], rows: list[tuple]) -> list[str]:
    cells = [columns, *([_shown(value) for value in row] for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(columns))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in cells]
    return [line.rstrip() for line in lines]


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
