"""`replan run` and `compare`: compute studies; `replan results` and `export`: read their stores."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import typer

from replan import Setting, find_rule, list_names, load_setting, make_mission
from replan.commands import CommandAnswer, Output, PlainAnswer, output_folder
from replan.commands.engine_options import EngineOptions
from replan.commands.options import RobotOptions, SpendingOptions
from replan.commands.reproduce import computed_run
from replan.errors import InputError
from replan.report.curves import write_study_figures
from replan.report.page.run_page import write_page
from replan.report.reports.drones import table_3
from replan.report.study_tables import regret_tables, write_study_tables
from replan.results.key import BEST_POSSIBLE, Record, Variant
from replan.results.pivot import group
from replan.results.run import Run, read_run
from replan.results.store import Store
from replan.schedule.periodic import Even
from replan.study import definition
from replan.study.runner import RunSummary, counted, run_study
from replan.worlds.settings import PAPER_SETTINGS

FAILURES_SHOWN = 20
STOPPED = 130
OVERVIEW = f"""
    select setting, label as rule, columns('^({"|".join(Variant.names())})$'),
        columns('exact_regret|regret_share|sampled_regret|standard_error'), parameters
    from cells join results using (cell) order by position
"""  # columns(...) also reads stores that lack one of them
RunArgument = Annotated[Path, typer.Argument(help="The folder of a run.")]


@dataclass(frozen=True)
class RunAnswer(CommandAnswer):
    """The cells of a study that were computed."""

    folder: Path
    report: RunSummary
    tables: list[Path]
    resume: str
    """Command that goes on with the run."""

    @property
    def status(self) -> int:
        """1 if cells failed, 130 if Ctrl-C stopped the run."""
        return STOPPED if self.report.stopped and self.report.missing else int(self.report.failed > 0)

    def record(self) -> dict[str, Any]:
        report = self.report
        return {
            "run": str(self.folder),
            "cells": report.cells,
            "stored_before": report.stored_before,
            "computed": report.computed,
            "failed": report.failed,
            "missing": report.missing,
            "failures": [
                dict(zip(("setting", "rule", "reason"), row, strict=True)) for row in report.failures
            ],
            "stopped": report.stopped,
            "seconds": report.seconds,
            "tables": [str(path) for path in self.tables],
            "resume": self.resume if report.missing or report.failed else None,
        }

    def lines(self) -> list[str]:
        report = self.report
        hidden = len(report.failures) - FAILURES_SHOWN
        return [
            f"{counted(report.cells, 'cell')}: {report.computed} computed in {report.seconds:.1f} s, "
            f"{report.stored_before} were stored before, {report.failed} failed",
            *(
                f"failed: {rule} on {setting}: {why}"
                for setting, rule, why in report.failures[:FAILURES_SHOWN]
            ),
            *([f"... {hidden} more: select * from failures"] if hidden > 0 else []),
            *(f"wrote {path}" for path in self.tables),
            *(
                [f"stopped, {counted(report.missing, 'cell')} to go; go on with: {self.resume}"]
                if report.stopped
                else []
            ),
        ]


def run(
    study: Annotated[str, typer.Argument(help="A TOML file, or the name of a study that comes with replan.")],
    engine: EngineOptions,
    output: Output,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; runs/NAME if not given.")] = None,
    page: Annotated[bool, typer.Option(help="Draw the page; without it only tables are written.")] = True,
) -> RunAnswer:
    """Compute every cell of a study; exit status 1 if cells failed, 130 if Ctrl-C stopped it."""
    loaded, text = definition.load_study(study)
    engine.require_alone(loaded)
    folder = out or Path("runs") / loaded.name
    with closing(engine.make()) as workers:
        report = run_study(loaded, text, folder, engine=workers, resume=resume, quiet=output.as_json)
    tables: list[Path] = []
    if not report.stopped:
        with output.waiting() as doing:
            doing("reading the results and writing tables")
            done = read_run(folder)
            tables = write_study_tables(done, folder / "tables")
            if page:
                tables.append(write_page(done, folder, more=table_3(done), doing=doing))
    words = [*engine.words(), *([] if page else ["--no-page"])]
    again = shlex.join(["replan", "run", study, "--out", str(folder), "--resume", *words])
    return RunAnswer(folder, report, tables, again)


def compare(
    rules: Annotated[list[str], typer.Argument(help="Rules: names, file.py:Class or package.module:Class.")],
    robot: RobotOptions,
    spending: SpendingOptions,
    output: Output,
    settings: Annotated[
        str | None, typer.Option(help="Settings, as two-burst,own.toml; the paper's if not given.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the page.")] = Path("runs/compare"),
    workers: Annotated[int, typer.Option(help="Processes.")] = 2,
) -> PlainAnswer:
    """Print the regret of every rule on every setting, with parameters that validation chooses there.

    Even spacing stands beside them, unless updates have a price and no limit.
    """
    names = _names(settings)
    _require_rules(rules, load_setting(names[0]), robot)
    budgets = [load_setting(name).budget for name in names] if spending.price is None else [None]
    if spending.budget is not None or None not in budgets:
        rules = [*rules, Even.name]
    output_folder(out)  # before anything is computed
    forecast = robot.forecast_parameters()
    given = spending.given() | ({} if robot.ties is None else {"ties": robot.ties})
    vary = {key: [value] for key, value in given.items()}
    study = definition.parse_study(
        {
            "name": "compare",
            "settings": [{"base": name, "vary": vary} for name in names],
            "rules": list(dict.fromkeys(rules)),
            "executions": [robot.execution],
            "forecasts": [] if forecast is None else [forecast.model_dump(exclude_none=True)],
            **robot.latency_axes(),
            "measure": ["exact", "optimum"],
        },
        where="compare",
    )
    with TemporaryDirectory() as folder, closing(EngineOptions(workers=workers).make()) as engine:
        done = computed_run(study, "", Path(folder), engine=engine, quiet=output.as_json)
    with output.waiting() as doing:
        page = write_page(done, out, doing=doing)
    facts = {
        "execution": robot.execution,
        "rules": [axis.rule for axis in study.blocks[0].rules],
        "settings": [_row(done, name, each) for (name,), each in group(done.records, "setting").items()],
        "page": str(page),
    }
    chosen = "Parameters of rules that come with replan are chosen on the validation seeds."
    return PlainAnswer(facts, [*regret_tables(done), f"{chosen} Page: {page}"])


def _require_rules(rules: Sequence[str], setting: Setting, robot: RobotOptions) -> None:
    """Refuse names that are no rules, and rules for other robots, before anything is computed."""
    mission = make_mission(setting, execution=robot.execution)
    for name in rules:
        if name in list_names("settings"):
            raise InputError(f"{name} is a setting, not a rule: --settings {name}")
        mission.require(find_rule(name).make())


def _names(text: str | None) -> list[str]:
    if text is None:
        return list(PAPER_SETTINGS)
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f"--settings takes names with commas between, not {text!r}")
    return list(dict.fromkeys(names))


def _row(run: Run, setting: str, records: list[Record]) -> dict[str, Any]:
    """Return the least regret possible on a setting, and the regret of each rule."""
    (best,) = (record for record in records if record["rule"] == BEST_POSSIBLE)
    return {
        "setting": setting,
        "ties": run.settings[setting].ties,
        "best_possible": best["exact_regret"],
        "makes_a_difference": best["makes_a_difference"],
        **{f"best_{key}": value for key, value in _spent(best).items()},
        "results": [_result(record) for record in records if record is not best],
    }


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
    """Return the objective and the expected updates, if they were measured."""
    names = ("expected_updates", "objective")
    return {name: record[name] for name in names if record[name] is not None}


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())


def results(
    run: RunArgument,
    query: Annotated[str | None, typer.Argument(help="SQL; the regret of every cell if not given.")] = None,
) -> PlainAnswer:
    """Print the answer of a query on the tables meta, settings, cells, results, samples, decisions, ..."""
    with Store.open(run) as store:
        columns, rows = store.query(query or OVERVIEW, isolated=True)
    plain = (int, float, str, bool, list, dict, type(None))
    facts = [[value if isinstance(value, plain) else str(value) for value in row] for row in rows]
    cells = [columns, *([_shown(value) for value in row] for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(columns))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in cells]
    return PlainAnswer({"columns": columns, "rows": facts}, [line.rstrip() for line in lines])


def export(
    run: RunArgument,
    form: Annotated[
        Literal["parquet", "csv", "pdf", "svg"],
        typer.Option("--format", help="Tables as Parquet or CSV; a figure as PDF or SVG."),
    ] = "parquet",
    out: Annotated[Path | None, typer.Option(help="Folder for the files; RUN/FORMAT if not given.")] = None,
) -> PlainAnswer:
    """Write every table of a run as a file, or the regret of its rules as a figure for a paper."""
    folder = out or run / form
    if form == "pdf" or form == "svg":
        found = read_run(run)
        files = [str(path) for path in write_study_figures(found, output_folder(folder), form)]
    else:
        with Store.open(run) as store:
            files = [str(path) for path in store.export(output_folder(folder), form)]
    facts = {"run": str(run), "format": form, "files": files}
    return PlainAnswer(facts, [f"wrote {path}" for path in files])
