"""`replan run`: compute a study, on this machine's cores or on a Ray cluster, and go on where it was left."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from replan.commands.common import Given, JsonOption
from replan.commands.engine_options import EngineOptions, computing_options
from replan.commands.output import emit
from replan.commands.waiting import waiting

FAILURES_SHOWN = 20
STOPPED = 130


@computing_options
def run(
    study: Annotated[str, typer.Argument(help="A TOML file, or the name of a study that comes with replan.")],
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; runs/NAME if not given.")] = None,
    page: Annotated[bool, typer.Option(help="Draw the page; without it only tables are written.")] = True,
    as_json: JsonOption = False,
    *,
    computing: Given,
) -> None:
    """Compute every cell of a study; exit status 1 where cells failed, 130 where Ctrl-C stopped it."""
    from replan.report.page import write_page
    from replan.report.study_tables import write_study_tables
    from replan.robots.crazyflie.flight_report import table_3
    from replan.study.definition import load_study
    from replan.study.progress import counted
    from replan.study.records import read_run
    from replan.study.runner import run_study

    loaded, text = load_study(study)
    options = EngineOptions(**computing)
    options.require_alone(loaded)
    folder = out or Path("runs") / loaded.name
    report = run_study(loaded, text, folder, engine=options.make, resume=resume, quiet=as_json)
    tables: list[Path] = []
    if not report.stopped:
        with waiting(quiet=as_json) as doing:
            doing("reading the results and writing tables")
            done = read_run(folder)
            tables = write_study_tables(done, folder / "tables")
            if page:
                tables.append(write_page(done, folder, more=table_3(done), doing=doing))
    words = [] if page else ["--no-page"]
    how = shlex.join(["replan", "run", study, "--out", str(folder), "--resume", *options.words(), *words])
    answer: dict[str, Any] = {
        "run": str(folder),
        "cells": report.cells,
        "stored_before": report.stored_before,
        "computed": report.computed,
        "failed": report.failed,
        "missing": report.missing,
        "failures": [dict(zip(("setting", "rule", "reason"), row, strict=True)) for row in report.failures],
        "stopped": report.stopped,
        "seconds": report.seconds,
        "tables": [str(path) for path in tables],
        "resume": how if report.missing or report.failed else None,
    }
    lines = [
        f"{counted(report.cells, 'cell')}: {report.computed} computed in {report.seconds:.1f} s, "
        f"{report.stored_before} were stored before, {report.failed} failed",
    ]
    lines += [
        f"failed: {rule} on {setting}: {why}" for setting, rule, why in report.failures[:FAILURES_SHOWN]
    ]
    if len(report.failures) > FAILURES_SHOWN:
        lines.append(f"... {len(report.failures) - FAILURES_SHOWN} more: select * from failures")
    lines += [f"wrote {path}" for path in tables]
    if report.stopped:
        lines.append(f"stopped, {counted(report.missing, 'cell')} to go; go on with: {how}")
    emit(answer, as_json=as_json, lines=lines)
    if report.stopped and report.missing:
        raise typer.Exit(STOPPED)
    if report.failed:
        raise typer.Exit(1)
