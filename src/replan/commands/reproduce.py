"""`replan reproduce`: the paper's tables and figures with its numbers beside ours, and further studies.

Every part is a study that comes with replan and tables over its records. Its store lies in OUT/runs/STUDY,
and the same command goes on with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from replan.commands import Doing, Output, PlainAnswer, output_folder
from replan.errors import InputError, did_you_mean
from replan.report.page.run_page import drawings, sentence, write_page
from replan.report.page.setting_view import setting_view
from replan.report.reports import Tables, write_reproduction
from replan.report.reports.drones import table_3
from replan.results.run import Run, read_run
from replan.results.store import FILE
from replan.results.table import Table
from replan.study import definition
from replan.study.definition import Study
from replan.study.engine import Engine
from replan.study.runner import counted, run_study

if TYPE_CHECKING:
    from concurrent.futures import Future

    from replan.study.local import LocalEngine

OF_TABLE_1 = {
    "all": "Tables 1 and 2, both figures, the page",
    "table2": "where the paper's rules place their updates",
    "figures": "the paper's two figures",
}
"""Further parts that are made of study `table1`, with what they make."""
PAST = "lookahead"
"""Study with which Table 1 ends."""
RUNS = "runs"
"""Folder inside the results for the stores."""
STOPPED = 130


def reproduce(
    output: Output,
    part: Annotated[str, typer.Argument(help="One of the parts above.")] = "all",
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("results"),
    search: Annotated[
        Literal["paper", "equal"], typer.Option(help="Candidate sets: paper, or equal for all methods.")
    ] = "paper",
    layouts: Annotated[
        int | None,
        typer.Option(
            help="Layouts per density of `table3` (15), `table3-report` (256) and `table3-late` (64)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of flights: wind and draws.")] = 0,
    seeds: Annotated[int, typer.Option(min=2, max=1000, help="Held-out seeds of `learning`.")] = 1000,
    ocean: Annotated[
        Path | None, typer.Option(help="Folder of NetCDF files of currents, for `ocean`.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes.")] = 2,
) -> PlainAnswer:
    """Write the tables and figures of a part."""
    from replan.study import local

    if part not in parts():
        raise InputError(f"there is no part {part!r}{did_you_mean(part, parts())}")
    folder, study, replaced = output_folder(out), "table1" if part in OF_TABLE_1 else part, {}
    if study == "table1" and search == "equal":
        study = "table1-equal"
    elif study == "learning":
        replaced = {"seeds": {"first": 0, "count": seeds}}
    elif study.startswith("table3"):
        replaced = {"trial": seed} if layouts is None else {"layouts": layouts, "trial": seed}
    elif study == "ocean":
        replaced = {"settings": _in_files(study, ocean)}
    with closing(local.LocalEngine(workers=workers)) as engine:

        def computed(name: str, **replaced: Any) -> Run:
            loaded, text = definition.load_study(name, **replaced)
            return computed_run(loaded, text, folder / RUNS / name, engine=engine, quiet=output.as_json)

        run = computed(study, **replaced)
        past = computed(PAST) if study == "table1" else None
        try:
            with output.waiting() as doing:
                figures = part not in ("table1", "table2")
                tables = _written(run, past, folder, engine, doing, figures=figures)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
    files = sorted(path.name for path in folder.iterdir() if path.is_file())
    first = part if part in tables else "table1"
    lines: list[str | Table] = [each for name in tables if name.startswith(first) for each in tables[name]]
    lines += [] if past is None else [f"\n{sentence(run, past)}"]
    lines.append(f"\n{len(files)} files in {folder}: {', '.join(files)}")
    return PlainAnswer({"part": part, "out": str(folder), "files": files, "records": run.records}, lines)


def _in_files(study: str, folder: Path | None) -> list[dict[str, Any]]:
    """Return the settings of a study with the folder of their files."""
    if folder is None:
        raise InputError("this part needs --ocean FOLDER with NetCDF files of currents (docs/nature.md)")
    given = {"file": str(folder.resolve())}
    return [axis | {"base": axis["base"] | given} for axis in definition.study_data(study)["settings"]]


def _written(
    run: Run, past: Run | None, folder: Path, engine: LocalEngine, doing: Doing, *, figures: bool
) -> Tables:
    """Write the tables and figures, while workers make the views of the page, then the page."""
    shown = run if run.name.startswith("table1") else _stored(folder, "table1", "table1-equal") or run
    flown = [shown] if shown.name == "table3" else [shown, _stored(folder, "table3")]
    beside = past or _stored(folder, PAST)
    beyond = _stored(folder, "beyond")
    drawn = drawings(shown, past=beside, beyond=beyond)
    begun = [engine.start(setting_view, *each) for each in drawn]
    doing("writing tables and figures")
    tables = write_reproduction(replace(run, beside=past), folder, figures=figures)
    more = [table for each in flown if each is not None for table in table_3(each)]
    views = _finished(begun, [name for name, *_ in drawn], doing)
    write_page(shown, folder, past=beside, beyond=beyond, more=more, views=views)
    return tables


def _finished(begun: Sequence[Future], names: Sequence[str], doing: Doing) -> Iterator[dict[str, Any]]:
    """Yield the views of settings in order, as workers finish them."""
    for place, (view, name) in enumerate(zip(begun, names, strict=True), start=1):
        doing(f"drawing {name}, {place} of {len(names)} settings")
        yield view.result()


@cache
def parts() -> dict[str, str]:
    """Return the parts by name, each with its results and its running time."""
    found = {}
    for name in definition.builtin_studies():
        study = definition.study_data(name)
        if "about" in study:
            found[name] = f"{study['about']}: {study['takes']}"
    return {**{name: f"{makes}: a minute" for name, makes in OF_TABLE_1.items()}, **found}


reproduce.__doc__ = "\n".join(
    [
        "Write tables and figures of the paper with its numbers beside ours, and further studies.",
        "",
        "\b",
        *(f"{name:<{max(map(len, parts())) + 2}}{makes}" for name, makes in parts().items()),
        "",
        "Every part writes its tables, its cells as CSV and the page report.html into OUT. Times are rough,",
        "on two cores. Stopped by Ctrl-C, the same command continues.",
    ]
)


def computed_run(study: Study, text: str, store: Path, *, engine: Engine, quiet: bool) -> Run:
    """Compute the cells of a study that are not in the store yet, and return the run."""
    report = run_study(study, text, store, engine=engine, resume=True, quiet=quiet)
    if report.stopped and report.missing:
        typer.echo(f"{counted(report.missing, 'cell')} to go; the same command goes on from there", err=True)
        raise typer.Exit(STOPPED)
    if report.failed:
        setting, rule, reason = report.failures[0]
        raise InputError(
            f"{counted(report.failed, 'cell')} failed, the first is {rule} on {setting}: {reason}"
        )
    return read_run(store, samples=True)


def _stored(folder: Path, *studies: str) -> Run | None:
    """Return the first study that is complete in the folder. A broken store is reported and skipped."""
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
