"""`replan reproduce`: the paper's tables and figures with its numbers beside ours, and what lies past.

Every part is a study that comes with replan and tables over its records. Its store lies in OUT/runs/STUDY,
and the same command goes on with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.common import JsonOption
from replan.commands.engine_options import EngineOptions
from replan.commands.output import emit
from replan.errors import InputError

if TYPE_CHECKING:
    from replan.study.definition import Study
    from replan.study.records import Run

STUDIES = {
    part: "table1" if part in ("table2", "figures", "all") else part
    for part in ("table1", "table2", "table3", "figures", "beyond", "learning", "certificates", "rats", "all")
}
SHOWN = {
    "figures": ["table1"],
    "all": ["table1"],
}  # tables on the terminal, where not those of the part's name
RUNS = "runs"  # folder inside the results for the stores
STOPPED = 130


def reproduce(
    part: Annotated[
        str, typer.Argument(help="table1 to table3, figures, beyond, learning, certificates, rats or all.")
    ] = "all",
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("results"),
    search: Annotated[str, typer.Option(help="Candidate sets: paper, or equal for all methods.")] = "paper",
    layouts: Annotated[int, typer.Option(help="Layouts per density of `table3`.")] = 15,
    seed: Annotated[int, typer.Option(help="Seed of `table3`: wind and draws.")] = 0,
    seeds: Annotated[int, typer.Option(help="Held-out seeds of `learning`, at most 1000.")] = 1000,
    workers: Annotated[int, typer.Option(help="Processes.")] = 2,
    as_json: JsonOption = False,
) -> None:
    """Tables and figures. `all` is the paper's simulation study: Tables 1 and 2 and both figures."""
    if part not in STUDIES:
        raise InputError(f"{part!r} is not one of {', '.join(STUDIES)}")
    if search not in ("paper", "equal"):
        raise InputError(f"--search must be paper or equal, not {search!r}")
    if not 2 <= seeds <= 1000:
        raise InputError(f"--seeds must lie between 2 and 1000, not {seeds}")
    from replan.report.page import write_page
    from replan.report.reproduction import write_reproduction
    from replan.study.definition import load_study

    folder, study, replaced = output_folder(out), STUDIES[part], {}
    if study == "table1" and search == "equal":
        study = "table1-equal"
    elif study == "learning":
        replaced = {"seeds": {"first": 0, "count": seeds}}
    elif study == "table3":
        replaced = {"layouts": layouts, "trial": seed}
    loaded, text = load_study(study, **replaced)
    run = computed_run(
        loaded, text, folder / RUNS / study, engine=EngineOptions(workers=workers), quiet=as_json
    )
    try:
        tables = write_reproduction(run, folder, figures=part not in ("table1", "table2"))
        shown = run if study.startswith("table1") else _stored(folder, "table1", "table1-equal") or run
        write_page(shown, folder, beyond=_stored(folder, "beyond"), flights=_stored(folder, "table3"))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
    files = sorted(path.name for path in folder.iterdir() if path.is_file())
    if as_json:
        emit(
            {"part": part, "out": str(folder), "files": files, "records": run.records}, as_json=True, lines=[]
        )
        return
    for name in SHOWN.get(part, [part]):
        for table in tables[name]:
            table.show()
    typer.echo(f"\n{len(files)} files in {folder}: {', '.join(files)}")


def output_folder(path: Path) -> Path:
    """Return the folder, made if need be; an `InputError` where it cannot be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".replan-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"cannot write to {path}: {error.strerror}") from None
    return path


def computed_run(study: Study, text: str, store: Path, *, engine: EngineOptions, quiet: bool) -> Run:
    """Compute the cells of a study that the store in this folder does not hold; returns its records."""
    from replan.study.records import read_run
    from replan.study.runner import run_study

    report = run_study(study, text, store, engine=engine.make, resume=True, quiet=quiet)
    if report.stopped and report.missing:
        typer.echo(f"{report.missing} cells to go; the same command goes on from there", err=True)
        raise typer.Exit(STOPPED)
    if report.failed:
        setting, rule, reason = report.failures[0]
        raise InputError(f"{report.failed} cells failed, the first is {rule} on {setting}: {reason}")
    return read_run(store, samples=True)


def _stored(folder: Path, *studies: str) -> Run | None:
    """The first of these studies that is complete in the folder; a broken store is left out with one line."""
    from replan.study.records import read_run
    from replan.study.store import FILE

    for study in studies:
        if (folder / RUNS / study / FILE).exists():
            try:
                run = read_run(folder / RUNS / study)
            except InputError as error:
                typer.echo(f"{error}: left out of the page", err=True)
                continue
            if run.complete:
                return run
    return None
