"""`replan compare`: the exact regret of several rules on several settings, with the least regret possible."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replan.commands.common import (
    ExecutionOption,
    Given,
    JsonOption,
    check_execution,
    forecast_of,
    forecast_options,
    spending_options,
)
from replan.commands.engine_options import EngineOptions
from replan.commands.output import emit
from replan.commands.reproduce import computed_run
from replan.commands.waiting import waiting
from replan.errors import InputError

if TYPE_CHECKING:
    from replan.study.records import Record, Run


@forecast_options
@spending_options
def command(
    rules: Annotated[list[str], typer.Argument(help="Rules: names, file.py:Class or package.module:Class.")],
    settings: Annotated[
        str | None, typer.Option(help="Settings, as two-burst,own.toml; the paper's if not given.")
    ] = None,
    execution: ExecutionOption = "map",
    out: Annotated[Path, typer.Option(help="Folder for the page.")] = Path("runs/compare"),
    workers: Annotated[int, typer.Option(help="Processes.")] = 2,
    as_json: JsonOption = False,
    *,
    spending: Given,
    expecting: Given,
) -> None:
    """Print the regret of every rule on every setting, with parameters that validation chooses there."""
    from replan.report.page import write_page
    from replan.report.study_tables import regret_tables
    from replan.study.definition import parse_study
    from replan.study.rule_source import find_rule
    from replan.worlds.settings import PAPER_SETTINGS

    for rule in rules:
        find_rule(rule).make()
    names = _names(settings) if settings is not None else list(PAPER_SETTINGS)
    forecast = forecast_of(expecting)
    study = parse_study(
        {
            "name": "compare",
            "settings": [
                {"base": name, "vary": {key: [spending[key]] for key in spending}} for name in names
            ],
            "rules": list(dict.fromkeys(rules)),
            "executions": [check_execution(execution)],
            "forecasts": [] if forecast is None else [forecast.model_dump(exclude_none=True)],
            "measure": ["exact", "optimum"],
        },
        where="compare",
    )
    with TemporaryDirectory() as folder:
        run = computed_run(study, "", Path(folder), engine=EngineOptions(workers=workers), quiet=as_json)
    with waiting(quiet=as_json) as doing:
        page = write_page(run, out, doing=doing)
    answer = {
        "execution": execution,
        "rules": [axis.rule for axis in study.blocks[0].rules],
        "settings": _rows(run),
        "page": str(page),
    }
    if as_json:
        emit(answer, as_json=True, lines=[])
        return
    for table in regret_tables(run):
        table.show()
    typer.echo(f"Parameters of rules that come with replan are chosen on the validation seeds. Page: {page}")


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f"--settings takes names with commas between, not {text!r}")
    return list(dict.fromkeys(names))


def _rows(run: Run) -> list[dict[str, Any]]:
    """Return for each setting the least regret possible and the regret of each rule."""
    from replan.study.cells import BEST_POSSIBLE

    rows = []
    for name, rules in run.by_setting().items():
        best = rules.pop(BEST_POSSIBLE)
        results = [_result(record) for record in rules.values()]
        rows.append(
            {
                "setting": name,
                "ties": run.settings[name].ties,
                "best_possible": best["exact_regret"],
                **{f"best_{key}": value for key, value in _spent(best).items()},
                "results": results,
            }
        )
    return rows


def _result(record: Record) -> dict[str, Any]:
    chosen = {} if record["validation"] is None else {"validation": record["validation"]}
    return {
        "rule": record["rule"],
        "parameters": record["parameters"],
        **chosen,
        "source": record["registered_rule"],
        "source_sha256": record["digest"],
        "regret": record["exact_regret"],
        "regret_share": record["regret_share"],
        **_spent(record),
    }


def _spent(record: Record) -> dict[str, Any]:
    """Return the objective and the expected updates, where they were measured."""
    names = ("expected_updates", "objective")
    return {name: record[name] for name in names if record[name] is not None}
