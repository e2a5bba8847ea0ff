"""`replan compare`: the exact regret of several rules on several settings, with the least regret possible."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from replan.commands.common import ExecutionOption, JsonOption, check_execution, choose_parameters
from replan.commands.output import emit
from replan.errors import InputError
from replan.execute.mission import Mission
from replan.study.protocol import prepare
from replan.study.rule_source import RuleSource, find_rule


def command(
    rules: Annotated[list[str], typer.Argument(help="Rules: names, file.py:Class or package.module:Class.")],
    settings: Annotated[
        str | None, typer.Option(help="Settings, as two-burst,own.toml; the paper's if not given.")
    ] = None,
    execution: ExecutionOption = "map",
    as_json: JsonOption = False,
) -> None:
    """Print the regret of every rule on every setting, with parameters that validation chooses there."""
    from replan.worlds.settings import PAPER_SETTINGS, load_setting, make_mission

    sources = [find_rule(rule) for rule in dict.fromkeys(rules)]
    names = _names(settings) if settings is not None else PAPER_SETTINGS
    execution = check_execution(execution)
    missions = {name: make_mission(load_setting(name), execution=execution) for name in names}
    rows = [{"setting": name, **_compare(mission, sources)} for name, mission in missions.items()]
    answer = {"execution": execution, "rules": [source.name for source in sources], "settings": rows}
    if as_json:
        emit(answer, as_json=True, lines=[])
    else:
        _table(sources, rows, execution).show()


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f"--settings takes names with commas between, not {text!r}")
    return list(dict.fromkeys(names))


def _compare(mission: Mission, sources: Sequence[RuleSource]) -> dict[str, Any]:
    """Return the regret of each rule, and the least possible one."""
    from replan.evaluation.exact import regret
    from replan.evaluation.optimal_schedule import optimum

    bench = cache(lambda: prepare(mission))
    results = []
    for source in sources:
        choice = choose_parameters(bench, source, {})
        record = choice.record() | {"source": source.name, "source_sha256": source.digest}
        results.append(record | {"regret": regret(mission, choice.rule, best=bench().best)})
    return {
        "ties": str(mission.ties),
        "best_possible": optimum(mission).feedback_regret,
        "results": results,
    }


def _table(sources: Sequence[RuleSource], rows: Sequence[dict[str, Any]], execution: str) -> Any:
    from replan.report.tables import Table

    return Table(
        title=f"Exact regret, execution {execution}",
        columns=("setting", *(source.kind.name for source in sources), "best possible"),
        rows=tuple(
            (
                row["setting"],
                *(f"{result['regret']:.4f}" for result in row["results"]),
                f"{row['best_possible']:.4f}",
            )
            for row in rows
        ),
        notes=("Parameters of registered rules are chosen on the validation seeds of each setting.",),
    )
