"""`replan export`: the tables of a run as files for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.common import JsonOption
from replan.commands.output import emit
from replan.commands.reproduce import output_folder
from replan.errors import InputError


def command(
    run: Annotated[Path, typer.Argument(help="The folder of a run.")],
    parquet: Annotated[bool, typer.Option("--parquet", help="As Parquet files.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the files; RUN/parquet if not given.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write every table of a run as a file."""
    from replan.study.store import Store

    if not parquet:
        raise InputError("name a format: --parquet")
    with Store.open(run) as store:
        files = store.export_parquet(output_folder(out or run / "parquet"))
    answer = {"run": str(run), "files": [str(path) for path in files]}
    emit(answer, as_json=as_json, lines=[f"wrote {path}" for path in files])
