"""Tables of one benchmark card: its aggregates by family, and its regrets by world."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from math import nan
from typing import Any

import numpy as np

from replan import Need
from replan.report.regret_words import WORDS
from replan.results.table import MISSING, Table, TableCell, number
from replan.suite.cards import Card
from replan.suite.catalogue import BLIND, EXECUTIONS, LEAST_RANGE, VERSION, SuiteWorld, suite_worlds
from replan.suite.score import Statistic, Summary, mean_score, score_matrix, summarise, world_groups
from replan.typing import Array

STATISTICS = ("median", "worst tenth", "worse")
TOLD_BY_FORECAST: dict[str, list[str]] = {
    "frozen": [],
    "trend": [str(Need.DRIFT_SO_FAR)],
    "mixture": [str(Need.DRIFT_SO_FAR), "the family of models"],
    "given": ["the true future"],
    "archive": ["changes of the past"],
    "family": ["the family of models"],
    "family-ahead": ["the family of models"],
}
SUITE = f"suite {VERSION}"


def score_notes() -> list[str]:
    """Return what the scores mean and how many worlds have one."""
    worlds = suite_worlds("test")
    scored = [f"{WORDS[kind]} {sum(world.scored(kind) for world in worlds)}" for kind in EXECUTIONS]
    return [
        "Score 0: as even spacing (`even`). Score 1: the best feedback schedule of a robot that expects no "
        "change; the schedule knows the future. In brackets 95 % intervals over worlds.",
        "IQM: mean of the middle half of the scores. Worst tenth: mean of the lowest tenth. Worse: share of "
        "worlds in which the rule does worse than even spacing.",
        f"Scored of {len(worlds)} worlds: {', '.join(scored)}. In the others even spacing is less than "
        f"{LEAST_RANGE} above the floor.",
    ]


def card_scores(card: Card) -> Array:
    """(W, E) scores of a card over the test part; NaN where a world or the card has none."""
    return score_matrix(suite_worlds("test"), card.regrets)


@cache
def _summary(key: str, group: str, execution: str | None, scores: bytes) -> Summary | None:
    """Return the aggregates of a group; `key` and `scores` stand for the card."""
    worlds = suite_worlds("test")
    matrix = np.frombuffer(scores).reshape(len(worlds), len(EXECUTIONS))
    columns = [EXECUTIONS.index(kind) for kind in (BLIND if execution is None else (execution,))]  # pyright: ignore[reportArgumentType]
    return summarise(matrix[world_groups(worlds).get(group, [])][:, columns])


def summary(card: Card, group: str = "all", execution: str | None = None) -> Summary | None:
    """Return the aggregates of a card over a group of worlds, under one execution or both blind ones."""
    return _summary(card.name, group, execution, card_scores(card).tobytes())


def summary_record(card: Card) -> dict[str, Any]:
    """Return the aggregates of a card as plain data, by group and execution."""
    found = {
        group: {kind: _plain(summary(card, group, kind)) for kind in EXECUTIONS}
        | {"blind": _plain(summary(card, group))}
        for group in world_groups(suite_worlds("test"))
    }
    return {
        "name": card.name,
        "rule": card.rule,
        "needs": card.needs,
        "parameters": card.parameters,
        "forecast": card.forecast,
        "update_steps": card.update_steps,
        "meanwhile": card.meanwhile,
        "stated_by_author": card.stated_by_author.model_dump(),
        "mean_score": mean_score(card_scores(card)),
        "scores": found,
    }


def card_tables(card: Card) -> list[Table]:
    """Return the aggregates of a card by family, a table for each execution to which the rule applies."""
    tables = []
    for kind in card.executions:
        rows = [
            [group, str(len(members)), *_cells(summary(card, group, kind))]
            for group, members in world_groups(suite_worlds("test")).items()
        ]
        title = f"{card.name} on {SUITE}, {WORDS[kind]}"
        tables.append(Table(title, ("worlds", "n", "IQM", *STATISTICS), rows, name=f"scores-{kind}"))
    return [*tables[:-1], replace(tables[-1], notes=[*score_notes(), _made(card)])]


def regret_table(card: Card) -> Table:
    """Return the regret of every world beside even spacing and the floor."""
    rows = [
        [
            world.name,
            world.family,
            *(cell for kind in card.executions for cell in _regret_cells(card, world, kind)),
        ]
        for world in suite_worlds("test")
    ]
    columns = ["world", "family"]
    columns += [
        f"{what}, {WORDS[kind]}" for kind in card.executions for what in ("even", "regret", "floor", "score")
    ]
    return Table(f"Regret of {card.name} by world", columns, rows, name="worlds-long")


def known(card: Card) -> str:
    """Return what the rule knows beyond time, budget, estimate and plan, in words."""
    needs = [need for need in Need if need in card.needs and need is not Need.BUDGET]
    words = ["the state seen" if need is Need.STATE else str(need) for need in needs]
    words += [word for word in TOLD_BY_FORECAST[card.forecast] if word not in words]
    return ", ".join(words) or "time and plan only"


def _cells(found: Summary | None) -> list[TableCell]:
    if found is None:
        return [TableCell(MISSING)] * 4
    return [
        estimate(found.iqm),
        number(found.median.value, ".2f"),
        number(found.worst_tenth.value, ".2f"),
        number(found.worse.value, ".0%"),
    ]


def estimate(found: Statistic | None) -> TableCell:
    """Return a statistic with its interval as a cell."""
    return TableCell(MISSING) if found is None else TableCell(str(found), found.value)


def _regret_cells(card: Card, world: SuiteWorld, execution: Any) -> list[TableCell]:
    regret = card.regrets.get((world.name, execution), nan)
    score = world.score(execution, regret)
    values = [number(value, ".4f") for value in (world.even[execution], regret, world.floor[execution])]
    return [*values, number(score, ".2f")]


def _made(card: Card) -> str:
    chosen = ", ".join(f"{key} {value}" for key, value in card.parameters.items() if value is not None)
    origin = "parameters: " + (chosen or "none")
    stated = card.stated_by_author
    if stated.tuning is not None and stated.tuning.candidates is not None:
        origin += f" (best of {stated.tuning.candidates} on the tune part)"
    took = f"names an update in {1000 * stated.decision_seconds:.3g} ms"
    return f"Knows {known(card)}; {origin}; {took}. {SUITE.capitalize()}, hash {card.suite.hash[:12]}."


def _plain(found: Summary | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)
