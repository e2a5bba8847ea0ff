"""`replan export`: the tables of a run as files for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from replan.commands.common import JsonOption
from replan.commands.output import emit
from replan.commands.reproduce import output_folder


def command(
    run: Annotated[Path, typer.Argument(help="The folder of a run.")],
    form: Annotated[Literal["parquet", "csv"], typer.Option("--format", help="Parquet or CSV.")] = "parquet",
    out: Annotated[Path | None, typer.Option(help="Folder for the files; RUN/FORMAT if not given.")] = None,
    parquet: Annotated[bool, typer.Option("--parquet", hidden=True)] = False,
    as_json: JsonOption = False,
) -> None:
    """Write every table of a run as a file, Parquet unless CSV is asked for."""
    from replan.study.store import Store

    form = "parquet" if parquet else form
    with Store.open(run) as store:
        files = store.export(output_folder(out or run / form), form)
    answer = {"run": str(run), "format": form, "files": [str(path) for path in files]}
    emit(answer, as_json=as_json, lines=[f"wrote {path}" for path in files])
