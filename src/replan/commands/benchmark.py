"""`replan benchmark`: the score of a rule on the frozen suite, its card, and the verification of cards."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from replan import find_rule
from replan.commands import Output, PlainAnswer, output_folder, write_whole
from replan.commands.engine_options import EngineOptions
from replan.commands.options import SetOption, flat_command
from replan.commands.reproduce import computed_run
from replan.errors import InputError
from replan.report.benchmark_tables import card_tables, summary_record
from replan.report.leaderboard import leaderboard_tables, write_benchmark_page, write_leaderboard
from replan.results.run import Run
from replan.schedule.registry import parse_parameters
from replan.study.definition import Study
from replan.suite.benchmark import make_card
from replan.suite.cards import Card, read_card, reference_cards
from replan.suite.catalogue import EXECUTIONS, SuiteRobot
from replan.suite.verification import incomparable, verify_card
from replan.typing import Execution, Meanwhile
from replan.worlds.forecasts import ForecastKind
from replan.worlds.robot_words import plain_steps

SCORE = "score"


class DefaultGroup(TyperGroup):
    """Commands of which `score` need not be named: `replan benchmark RULE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the default command before anything that is neither a command nor --help."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [SCORE, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=DefaultGroup, rich_markup_mode=None, no_args_is_help=True, add_completion=False)


@app.callback()
def _benchmark() -> None:
    """Score a rule on the frozen suite: `replan benchmark RULE`. Verify and rank cards."""


def score(
    rule: Annotated[str, typer.Argument(help="A rule: its name, file.py:Class or package.module:Class.")],
    engine: EngineOptions,
    output: Output,
    assignments: SetOption = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose one parameter set for all worlds on the tune part.")
    ] = False,
    forecast: Annotated[
        ForecastKind, typer.Option(help="What the robot expects; given: the true future.")
    ] = "frozen",
    update_steps: Annotated[
        str, typer.Option(help="Steps that an update takes: 4, or drawn, as 1:0.5,3:0.5.")
    ] = "0",
    meanwhile: Annotated[Meanwhile, typer.Option(help="Acting while an update runs.")] = "go-on",
    execution: Annotated[
        list[str] | None,
        typer.Option(help="Measure the rule on this robot only, not on all that it is for; may be repeated."),
    ] = None,
    card: Annotated[
        Path | None, typer.Option(help="File of the card; in the run's folder if not given.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run, card and page.")] = None,
) -> PlainAnswer:
    """Score a rule, and write its card and a page.

    The test part of the suite counts. Stopped, the same command goes on.
    """
    source, given = find_rule(rule), parse_parameters(assignments or [])
    robot = SuiteRobot(forecast, plain_steps(update_steps), meanwhile)
    executions = _executions(execution or EXECUTIONS)
    unusual = ["tuned"] * tune + robot.unusual() + (execution or [])
    slug = _slug([rule.rpartition(":")[2], *map("=".join, given.items()), *unusual], source.digest)
    folder = output_folder(out or Path("runs") / "benchmark" / slug)
    compute = _computing(folder, engine, quiet=output.as_json)
    found = make_card(
        source,
        given,
        compute,
        tune=tune,
        robot=robot,
        executions=executions,
    )
    file = write_whole(card or folder / "card.json", found.text())
    page = write_benchmark_page([found, *reference_cards()], folder, own=found)
    facts = {"card": str(file), "page": str(page), **summary_record(found)}
    return PlainAnswer(facts, [*card_tables(found), f"card {file}, page {page}"])


def _executions(names: Sequence[str]) -> list[Execution]:
    """Return the executions of these names, in the order of the suite."""
    for name in names:
        if name not in EXECUTIONS:
            raise InputError(f"--execution is {', '.join(EXECUTIONS)}, not {name!r}")
    return [kind for kind in EXECUTIONS if kind in names]


def verify(
    cards: Annotated[list[Path], typer.Argument(help="Cards, as JSON files.")],
    engine: EngineOptions,
    output: Output,
    rule: Annotated[
        str | None, typer.Option(help="Where the rule is, file.py:Class, if it does not come with replan.")
    ] = None,
    run_source: Annotated[
        bool, typer.Option("--run-source", help="Run the source text that a card holds.")
    ] = False,
) -> PlainAnswer:
    """Recompute every regret of cards.

    The exit status is 1 if a card does not hold, with one line for each difference.
    """
    facts, lines = [], []
    for path in cards:
        card = read_card(path)
        if run_source and rule is None and card.source is not None:
            typer.echo(
                f"running the source that {path} holds ({card.rule}, {len(card.source)} characters)", err=True
            )
        with TemporaryDirectory() as folder:
            compute = _computing(Path(folder), engine, quiet=output.as_json)
            findings = verify_card(card, compute, rule=rule, run_source=run_source)
        stated = card.stated_by_author.model_dump()
        facts.append(
            {"card": str(path), "holds": not findings, "findings": findings, "stated_by_author": stated}
        )
        lines += [f"{path}: {line}" for line in findings or _what_holds(card)]
    return PlainAnswer({"cards": facts}, lines, int(not all(each["holds"] for each in facts)))


def _what_holds(card: Card) -> list[str]:
    """Return what was recomputed of a card that holds, and what was not."""
    stated = card.stated_by_author
    tuning = "no tuning"
    if stated.tuning is not None:
        score = "" if stated.tuning.mean_score is None else f", mean score {stated.tuning.mean_score:.4f}"
        tuning = f"tuning on {stated.tuning.on}{score}"
    versions = ", ".join(f"{name} {version}" for name, version in stated.versions.items())
    return [
        f"holds: {len(card.worlds)} regrets of {card.name} recomputed; "
        "name, source, needs and parameters are those of the rule",
        f"stated by the author, not recomputed: {tuning}; {versions}; "
        f"{1000 * stated.decision_seconds:.3g} ms a decision",
    ]


def leaderboard(
    cards: Annotated[
        list[Path] | None, typer.Argument(help="Cards beside those that come with replan.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for tables, figure and page.")] = Path("runs/leaderboard"),
) -> PlainAnswer:
    """Rank cards by the regrets that they state."""
    given = {path: read_card(path) for path in cards or []}
    for path, card in given.items():
        for finding in incomparable(card):
            raise InputError(f"{path}: {finding}")
    ranked = [*reference_cards(), *given.values()]
    files = [str(path) for path in write_leaderboard(ranked, output_folder(out))]
    facts = {"files": files, "cards": [summary_record(card) for card in ranked]}
    return PlainAnswer(facts, [*leaderboard_tables(ranked), f"wrote {', '.join(files)}"])


app.command(SCORE)(flat_command(score))
app.command("verify")(flat_command(verify))
app.command("leaderboard")(flat_command(leaderboard))


def _computing(folder: Path, engine: EngineOptions, *, quiet: bool) -> Callable[[Study], Run]:
    """Return a function that computes a study in a folder of its own."""

    def compute(study: Study) -> Run:
        engine.require_alone(study)
        with closing(engine.make()) as workers:
            return computed_run(study, "", folder / study.name, engine=workers, quiet=quiet)

    return compute


def _slug(words: list[str], digest: str | None) -> str:
    """Return the name of the run's folder: another one for other words or another source."""
    slug = re.sub(r"[^\w.=-]+", "-", "-".join(words + ([] if digest is None else [digest[:8]])))
    return slug if len(slug) <= 100 else f"{slug[:80]}-{sha256(slug.encode()).hexdigest()[:12]}"
