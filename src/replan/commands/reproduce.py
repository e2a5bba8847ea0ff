"""`replan reproduce`: the paper's tables and figures with its numbers beside ours, and what lies past.

Every part is a study that comes with replan and tables over its records. Its store lies in OUT/runs/STUDY,
and the same command goes on with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.common import JsonOption
from replan.commands.engine_options import EngineOptions
from replan.commands.output import emit
from replan.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from replan.study.definition import Study
    from replan.study.records import Run


@dataclass(frozen=True)
class Part:
    """A part that can be asked for."""

    study: str
    makes: str
    takes: str
    """On two cores."""
    shown: tuple[str, ...] = ()
    """Tables on the terminal; none: those of the part's name."""


PARTS = {
    "all": Part("table1", "Tables 1 and 2, both figures, the page", "a minute", ("table1",)),
    "table1": Part("table1", "regret of the paper's rules, look-ahead and the best possible", "a minute"),
    "table2": Part("table1", "where the paper's rules place their updates", "a minute"),
    "figures": Part("table1", "the paper's two figures", "a minute", ("table1",)),
    "table3": Part("table3", "simulated flights of a Crazyflie (needs the extra crazyflow)", "10 minutes"),
    "table3-report": Part(
        "table3-report", "such flights with a weather report, right and wrong", "10 minutes"
    ),
    "beyond": Part("beyond", "every rule on harder worlds too, and what regret is made of", "5 minutes"),
    "learning": Part("learning", "regret when the model is learned from what is seen", "50 minutes"),
    "certificates": Part("certificates", "what can be promised, beside the paper's bound", "2 minutes"),
    "rats": Part("rats", "the bridge of RATS, its published returns beside exact ones", "10 seconds"),
    "forecast": Part(
        "forecast",
        "what a forecast is worth, and a wrong one costs",
        "15 minutes",
        ("forecast", "forecast-totals"),
    ),
}
HELP = "\n".join(
    [
        "Tables and figures of the paper with its numbers beside ours, and what lies past it.",
        "",
        "\b",
        *(f"{name:<17}{part.makes}: {part.takes}" for name, part in PARTS.items()),
        "",
        "Every part writes its tables, its cells as CSV and the page report.html into OUT. Times are rough,",
        "on two cores. Stopped by Ctrl-C, the same command goes on from where it was.",
    ]
)
PAST = "lookahead"  # study with which Table 1 ends
RUNS = "runs"  # folder inside the results for the stores
STOPPED = 130


def reproduce(
    part: Annotated[str, typer.Argument(help="One of the parts above.")] = "all",
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("results"),
    search: Annotated[str, typer.Option(help="Candidate sets: paper, or equal for all methods.")] = "paper",
    layouts: Annotated[
        int | None, typer.Option(help="Layouts per density of `table3` (15) and `table3-report` (256).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of flights: wind and draws.")] = 0,
    seeds: Annotated[int, typer.Option(help="Held-out seeds of `learning`, at most 1000.")] = 1000,
    workers: Annotated[int, typer.Option(help="Processes.")] = 2,
    as_json: JsonOption = False,
) -> None:
    """Write the tables and figures of a part."""
    if part not in PARTS:
        raise InputError(f"there is no part {part!r}{did_you_mean(part, PARTS)}")
    if search not in ("paper", "equal"):
        raise InputError(f"--search must be paper or equal, not {search!r}")
    if not 2 <= seeds <= 1000:
        raise InputError(f"--seeds must lie between 2 and 1000, not {seeds}")
    from replan.report.page import sentence, write_page
    from replan.report.reproduction import write_reproduction
    from replan.robots.crazyflie.flight_report import table_3
    from replan.study.definition import load_study

    folder, study, replaced = output_folder(out), PARTS[part].study, {}
    if study == "table1" and search == "equal":
        study = "table1-equal"
    elif study == "learning":
        replaced = {"seeds": {"first": 0, "count": seeds}}
    elif study.startswith("table3"):
        replaced = {"trial": seed} if layouts is None else {"layouts": layouts, "trial": seed}
    loaded, text = load_study(study, **replaced)
    engine = EngineOptions(workers=workers)
    run = computed_run(loaded, text, folder / RUNS / study, engine=engine, quiet=as_json)
    past = None
    if study == "table1":
        loaded, text = load_study(PAST)
        past = computed_run(loaded, text, folder / RUNS / PAST, engine=engine, quiet=as_json)
    try:
        tables = write_reproduction(run, folder, past=past, figures=part not in ("table1", "table2"))
        shown = run if study.startswith("table1") else _stored(folder, "table1", "table1-equal") or run
        flown = [shown] if shown.name == "table3" else [shown, _stored(folder, "table3")]
        write_page(
            shown,
            folder,
            past=past or _stored(folder, PAST),
            beyond=_stored(folder, "beyond"),
            more=[table for each in flown if each is not None for table in table_3(each)],
        )
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
    files = sorted(path.name for path in folder.iterdir() if path.is_file())
    if as_json:
        emit(
            {"part": part, "out": str(folder), "files": files, "records": run.records}, as_json=True, lines=[]
        )
        return
    for name in PARTS[part].shown or (part,):
        for table in tables[name]:
            table.show()
    if past is not None:
        typer.echo(f"\n{sentence(run, past)}")
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
    from replan.study.progress import counted
    from replan.study.records import read_run
    from replan.study.runner import run_study

    report = run_study(study, text, store, engine=engine.make, resume=True, quiet=quiet)
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
