"""`replan benchmark`: the score of a rule on the frozen suite, its card, and the verification of cards."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperGroup

from replan.commands.common import Given, JsonOption, SetOption
from replan.commands.engine_options import EngineOptions, computing_options
from replan.commands.output import emit
from replan.commands.reproduce import computed_run, output_folder
from replan.errors import InputError

if TYPE_CHECKING:
    from replan.study.definition import Study
    from replan.study.records import Run

SCORE = "score"
DIFFERS = 1


class DefaultGroup(TyperGroup):
    """Commands of which `score` need not be named: `replan benchmark RULE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the default command before anything that is neither a command nor --help."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [SCORE, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=DefaultGroup, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def _benchmark() -> None:
    """Score a rule on the frozen suite: `replan benchmark RULE`. Verify and rank cards."""


@app.command(SCORE)
@computing_options
def score(
    rule: Annotated[str, typer.Argument(help="A rule: its name, file.py:Class or package.module:Class.")],
    assignments: SetOption = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose one parameter set for all worlds on the tune part.")
    ] = False,
    forecast: Annotated[
        str, typer.Option(help="What the robot expects: frozen, trend, mixture or given (the true future).")
    ] = "frozen",
    card: Annotated[
        Path | None, typer.Option(help="File of the card; in the run's folder if not given.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run, card and page.")] = None,
    as_json: JsonOption = False,
    *,
    computing: Given,
) -> None:
    """Score a rule on the test part of the suite and write its card and a page; the same command goes on."""
    from replan.report.benchmark_page import write_benchmark_page
    from replan.report.benchmark_tables import card_tables, summary_record
    from replan.report.files import write_whole
    from replan.schedule.registry import parse_parameters
    from replan.study.rule_source import find_rule
    from replan.suite.benchmark import make_card
    from replan.suite.cards import reference_cards
    from replan.worlds.forecasts import ForecastKind

    if forecast not in get_args(ForecastKind):
        raise InputError(f"--forecast must be one of {', '.join(get_args(ForecastKind))}, not {forecast!r}")
    expected: ForecastKind = forecast  # pyright: ignore[reportAssignmentType]
    source, given = find_rule(rule), parse_parameters(assignments or [])
    unusual = ["tuned"] * tune + [forecast] * (forecast != "frozen")
    slug = _slug([rule.rpartition(":")[2], *map("=".join, given.items()), *unusual], source.digest)
    folder = output_folder(out or Path("runs") / "benchmark" / slug)
    options = EngineOptions(**computing)
    found = make_card(source, given, _computing(folder, options, quiet=as_json), tune=tune, forecast=expected)
    written = write_whole(card or folder / "card.json", found.text())
    page = write_benchmark_page([found, *reference_cards()], folder, own=found)
    if as_json:
        answer = {"card": str(written), "page": str(page), **summary_record(found)}
        emit(answer, as_json=True, lines=[])
        return
    for table in card_tables(found):
        table.show()
    typer.echo(f"card {written}, page {page}")


@app.command("verify")
@computing_options
def verify(
    cards: Annotated[list[Path], typer.Argument(help="Cards, as JSON files.")],
    rule: Annotated[
        str | None, typer.Option(help="Where the rule is, file.py:Class, if it does not come with replan.")
    ] = None,
    run_source: Annotated[
        bool, typer.Option("--run-source", help="Run the source text that a card holds.")
    ] = False,
    as_json: JsonOption = False,
    *,
    computing: Given,
) -> None:
    """Recompute cards; exit status 1 where one does not hold, with one line for each difference."""
    from replan.suite.cards import read_card
    from replan.suite.verification import verify_card

    answers, lines = [], []
    options = EngineOptions(**computing)
    for path in cards:
        card = read_card(path)
        if run_source and rule is None and card.source is not None:
            typer.echo(
                f"running the source that {path} holds ({card.rule}, {len(card.source)} characters)", err=True
            )
        with TemporaryDirectory() as folder:
            compute = _computing(Path(folder), options, quiet=as_json)
            findings = verify_card(card, compute, rule=rule, run_source=run_source)
        answers.append({"card": str(path), "holds": not findings, "findings": findings})
        lines += [f"{path}: {finding}" for finding in findings] or [
            f"{path}: holds: {len(card.worlds)} regrets of {card.name} recomputed"
        ]
    emit({"cards": answers}, as_json=as_json, lines=lines)
    if not all(answer["holds"] for answer in answers):
        raise typer.Exit(DIFFERS)


@app.command("leaderboard")
def leaderboard(
    cards: Annotated[
        list[Path] | None, typer.Argument(help="Cards beside those that come with replan.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for tables, figure and page.")] = Path("runs/leaderboard"),
    as_json: JsonOption = False,
) -> None:
    """Rank cards, best to worst, from the regrets that they state."""
    from replan.report.benchmark_page import write_leaderboard
    from replan.report.benchmark_tables import leaderboard_tables, summary_record
    from replan.suite.cards import read_card, reference_cards
    from replan.suite.verification import incomparable

    given = {path: read_card(path) for path in cards or []}
    for path, card in given.items():
        for finding in incomparable(card):
            raise InputError(f"{path}: {finding}")
    found = [*reference_cards(), *given.values()]
    files = write_leaderboard(found, output_folder(out))
    if as_json:
        emit(
            {"files": [str(path) for path in files], "cards": [summary_record(card) for card in found]},
            as_json=True,
            lines=[],
        )
        return
    for table in leaderboard_tables(found):
        table.show()
    typer.echo(f"wrote {', '.join(str(path) for path in files)}")


def _computing(folder: Path, options: EngineOptions, *, quiet: bool) -> Callable[[Study], Run]:
    """Return a function that computes a study in a folder of its own."""

    def compute(study: Study) -> Run:
        options.require_alone(study)
        return computed_run(study, "", folder / study.name, engine=options, quiet=quiet)

    return compute


def _slug(words: list[str], digest: str | None) -> str:
    """Return the name of the run's folder: another one for other words or another source."""
    slug = re.sub(r"[^\w.=-]+", "-", "-".join(words + ([] if digest is None else [digest[:8]])))
    return slug if len(slug) <= 100 else f"{slug[:80]}-{sha256(slug.encode()).hexdigest()[:12]}"
