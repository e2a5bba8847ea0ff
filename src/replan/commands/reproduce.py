"""`replan reproduce`: the paper's tables and figures with its numbers beside ours, and what lies past."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from replan.commands.common import JsonOption
from replan.commands.output import emit
from replan.errors import InputError

if TYPE_CHECKING:
    from replan.study.candidates import Search
    from replan.study.simulation import SettingResult

SEARCHES: tuple[Search, ...] = ("paper", "equal")
Part = TypeVar("Part")
KEPT = ".parts"  # folder inside the results for what a stopped reproduction has done


def reproduce(
    part: Annotated[
        str, typer.Argument(help="table1 to table3, figures, beyond, learning, certificates or all.")
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
    if part not in PARTS:
        raise InputError(f"{part!r} is not one of {', '.join(PARTS)}")
    if search not in SEARCHES:
        raise InputError(f"--search must be paper or equal, not {search!r}")
    if not 2 <= seeds <= 1000:
        raise InputError(f"--seeds must lie between 2 and 1000, not {seeds}")
    if workers < 1:
        raise InputError(f"--workers must be at least 1, not {workers}")
    if layouts < 1:
        raise InputError(f"--layouts must be at least 1, not {layouts}")
    folder = output_folder(out)
    options = {
        "search": search,
        "layouts": layouts,
        "seed": seed,
        "seeds": seeds,
        "workers": workers,
        "quiet": as_json,
    }
    try:
        table, records = PARTS[part](folder, part, options)
    except KeyboardInterrupt:
        if (folder / KEPT).exists():
            typer.echo("what is done is kept: the same command goes on from there", err=True)
        raise
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
    files = sorted(path.name for path in folder.iterdir() if path.is_file())
    if as_json:
        emit({"part": part, "out": str(folder), "files": files, "records": records}, as_json=True, lines=[])
        return
    table.show()
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


def _simulation(folder: Path, part: str, options: dict[str, Any]):
    from replan.report.simulation_figures import write_figures
    from replan.report.simulation_tables import records, table_2, write_tables
    from replan.study.simulation import simulate
    from replan.worlds.settings import PAPER_SETTINGS

    done = simulate(PAPER_SETTINGS, search=options["search"], workers=options["workers"], kept=folder / KEPT)
    results = _watched(done, len(PAPER_SETTINGS), lambda result: result.name, options)
    table = write_tables(results, folder, search=options["search"])
    if part in ("figures", "all"):
        write_figures(results, folder)
    _write_report(folder, options["search"], results)
    return (table_2(results) if part == "table2" else table), records(results)


def _rewrite_report(folder: Path, search: Search) -> None:
    """The page with what was just added to the folder, where the simulation was run into it before."""
    from replan.study.simulation import kept_simulation
    from replan.worlds.settings import PAPER_SETTINGS

    for kind in dict.fromkeys((search, *SEARCHES)):
        results = kept_simulation(PAPER_SETTINGS, search=kind, kept=folder / KEPT)
        if len(results) == len(PAPER_SETTINGS):
            return _write_report(folder, kind, results)


def _write_report(folder: Path, search: str, results: Sequence[SettingResult]) -> None:
    """The page of a simulation and of all else that lies in the folder."""
    from replan.report.page import write_page
    from replan.study.beyond import kept_beyond

    past = kept_beyond([result.name for result in results], kept=folder / KEPT)
    write_page(results, folder, search=search, flights=flights_in(folder), beyond=past)


def flights_in(folder: Path) -> list[dict[str, Any]] | None:
    """The rows of Table 3, where `table3` was flown into the same folder before."""
    import json

    from replan.report.page.tables import flight_table

    path = folder / "table3.json"
    if not path.exists():
        return None
    try:
        rows = json.loads(path.read_text())["rows"]
        flight_table(rows).html()
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        typer.echo(f"{path} does not hold the rows of Table 3: left out", err=True)
        return None
    return rows


def _beyond(folder: Path, part: str, options: dict[str, Any]):
    from replan.report.beyond_table import records, write_beyond
    from replan.study.beyond import beyond
    from replan.worlds.settings import builtin_settings

    total = 2 * len(builtin_settings())
    done = beyond(workers=options["workers"], kept=folder / KEPT)
    results = _watched(done, total, lambda result: f"{result.setting}, {result.execution}", options)
    table = write_beyond(results, folder)
    _rewrite_report(folder, options["search"])
    return table, records(results)


def _learning(folder: Path, part: str, options: dict[str, Any]):
    from replan.report.learning_tables import write_learning
    from replan.study.learning import LEARNING_SETTINGS, learning

    done = learning(seeds=options["seeds"], workers=options["workers"], kept=folder / KEPT)
    results = _watched(done, len(LEARNING_SETTINGS), lambda result: result[1][0].setting, options)
    learned = [each for found, _ in results for each in found]
    wrong = [each for _, found in results for each in found]
    table = write_learning(learned, wrong, folder)
    return table, [{**vars(each), "sampled": vars(each.sampled)} for each in learned]


def _certificates(folder: Path, part: str, options: dict[str, Any]):
    from replan.report.certificate_figure import BUDGETS, SETTING, promises, write_certificates
    from replan.worlds.settings import load_setting, make_mission

    done = promises(make_mission(load_setting(SETTING)), BUDGETS)
    points = _watched(done, len(BUDGETS), lambda point: f"{point.budget} updates", options)
    return write_certificates(points, folder), [vars(point) for point in points]


def _table3(folder: Path, part: str, options: dict[str, Any]):
    import json

    from replan.report.files import write_whole
    from replan.report.flight_figure import flight_figure
    from replan.report.flight_table import table_3
    from replan.study.table3 import table3

    def tell(what: str, share: float) -> None:
        if not options["quiet"]:
            typer.echo(f"{share:4.0%}  {what}", err=True)

    result = table3(layouts=options["layouts"], seed=options["seed"], progress=tell)
    tables = table_3(result)
    if not options["quiet"]:
        for table in tables[:-1]:
            table.show()
    write_whole(folder / "table3.md", "\n".join(table.markdown() for table in tables))
    write_whole(folder / "table3.tex", "\n".join(table.latex() for table in tables))
    write_whole(folder / "table3.json", json.dumps(result.record(), indent=1) + "\n")
    flight_figure(result.tracks, path=folder / "flights.png")
    _rewrite_report(folder, options["search"])
    return tables[-1], result.record()


PARTS = {
    "table3": _table3,
    "table1": _simulation,
    "table2": _simulation,
    "figures": _simulation,
    "beyond": _beyond,
    "learning": _learning,
    "certificates": _certificates,
    "all": _simulation,
}


def _watched(
    results: Iterable[Part], total: int, name: Callable[[Part], str], options: dict[str, Any]
) -> list[Part]:
    """The results as they come, with a progress bar on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    found = []
    with Progress(*columns, console=Console(stderr=True), disable=options["quiet"]) as progress:
        task = progress.add_task("at work", total=total)
        for result in results:
            found.append(result)
            progress.update(task, advance=1, description=f"done: {name(result)}")
    return found
