"""`replan reproduce`: the paper's tables and figures, with the paper's numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.common import JsonOption
from replan.commands.output import emit
from replan.errors import InputError

PARTS = ("table1", "table2", "figures", "all")


def reproduce(
    part: Annotated[str, typer.Argument(help=f"One of {', '.join(PARTS)}.")] = "all",
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("results"),
    search: Annotated[str, typer.Option(help="Candidate sets: paper, or equal for all methods.")] = "paper",
    workers: Annotated[int, typer.Option(help="Processes.")] = 2,
    as_json: JsonOption = False,
) -> None:
    """Tables 1 and 2 and the figures of the simulation study."""
    if part not in PARTS:
        raise InputError(f"{part!r} is not one of {', '.join(PARTS)}")
    if search not in ("paper", "equal"):
        raise InputError(f"--search must be paper or equal, not {search!r}")
    folder = output_folder(out)
    results = _simulate(search, workers, quiet=as_json)
    from replan.report.simulation_tables import records, table_2, write_tables

    table = write_tables(results, folder, search=search)
    shown = table_2(results) if part == "table2" else table
    files = sorted(path.name for path in folder.iterdir() if path.is_file())
    if as_json:
        emit({"out": str(folder), "files": files, "table1": records(results)}, as_json=True, lines=[])
        return
    shown.show()
    typer.echo(f"\n{len(files)} files in {folder}: {', '.join(files)}")


def output_folder(path: Path) -> Path:
    """The folder, made if need be, or an `InputError`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".replan-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"cannot write to {path}: {error.strerror}") from None
    return path


def _simulate(search: str, workers: int, *, quiet: bool):
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from replan.study.settings import PAPER_SETTINGS
    from replan.study.simulation import simulate

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    results = []
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as progress:
        task = progress.add_task("nine methods on eight settings", total=len(PAPER_SETTINGS))
        for result in simulate(search=search, workers=workers):  # pyright: ignore[reportArgumentType]
            results.append(result)
            progress.update(task, advance=1, description=f"done: {result.name}")
    return results
