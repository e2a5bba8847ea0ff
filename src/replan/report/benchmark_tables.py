"""Tables of benchmark cards: the aggregates of one, the leaderboard of many, and the way to the floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Any

import numpy as np

from replan.model.kernel import Array
from replan.report.regret_words import WORDS
from replan.results.table import MISSING, Table, TableCell, number
from replan.schedule.rule import Need
from replan.suite.cards import Card
from replan.suite.catalogue import EXECUTIONS, VERSION, SuiteWorld, suite_worlds
from replan.suite.score import Statistic, Summary, mean_score, score_matrix, summarise, world_groups

STATISTICS = ("median", "worst tenth", "worse")
SHOWN_BESIDE_THE_FLOOR = 3
TOLD_BY_FORECAST: dict[str, list[str]] = {
    "frozen": [],
    "trend": [str(Need.DRIFT_SO_FAR)],
    "mixture": [str(Need.DRIFT_SO_FAR), "the family of models"],
    "given": ["the true future"],
}
AHEAD = {Need.DRIFT_AHEAD, Need.CURRENT_KERNEL}
NOTES = (
    "Score 0: as even spacing. Score 1: the best feedback schedule of the paper's robot, which knows the "
    "future. In brackets 95 % intervals over worlds.",
    "IQM: mean of the middle half of the scores. Worst tenth: mean of the lowest tenth. Worse: share of "
    "worlds in which the rule does worse than `periodic`.",
)


def card_scores(card: Card) -> Array:
    """(W, E) scores of a card over the test part; NaN where a world is not scored."""
    return score_matrix(suite_worlds("test"), card.regrets)


@cache
def _summary(key: str, group: str, execution: str | None, scores: bytes) -> Summary | None:
    """Return the aggregates of a group; `key` and `scores` stand for the card."""
    worlds = suite_worlds("test")
    matrix = np.frombuffer(scores).reshape(len(worlds), len(EXECUTIONS))
    columns = slice(None) if execution is None else [EXECUTIONS.index(execution)]  # pyright: ignore[reportArgumentType]
    return summarise(matrix[world_groups(worlds)[group]][:, columns])


def summary(card: Card, group: str = "all", execution: str | None = None) -> Summary | None:
    """Return the aggregates of a card over a group of worlds, under one execution or both."""
    return _summary(card.name, group, execution, card_scores(card).tobytes())


def summary_record(card: Card) -> dict[str, Any]:
    """Return the aggregates of a card as plain data, by group and execution."""
    found = {
        group: {kind: _plain(summary(card, group, kind)) for kind in EXECUTIONS}
        | {"both": _plain(summary(card, group))}
        for group in world_groups(suite_worlds("test"))
    }
    return {
        "name": card.name,
        "rule": card.rule,
        "needs": card.needs,
        "parameters": card.parameters,
        "forecast": card.forecast,
        "stated_by_author": card.stated_by_author.model_dump(),
        "mean_score": mean_score(card_scores(card)),
        "scores": found,
    }


def card_tables(card: Card) -> list[Table]:
    """Return the aggregates of a card by family, a table for each execution."""
    tables = []
    for kind in EXECUTIONS:
        rows = [
            [group, str(len(members)), *_cells(summary(card, group, kind))]
            for group, members in world_groups(suite_worlds("test")).items()
        ]
        title = f"{card.name} on suite {VERSION}, {WORDS[kind]}"
        tables.append(Table(title, ("worlds", "n", "IQM", *STATISTICS), rows, name=f"scores-{kind}"))
    return [*tables[:-1], replace(tables[-1], notes=[*NOTES, _made(card)])]


def regret_table(card: Card) -> Table:
    """Return the regret of every world beside even spacing and the floor."""
    rows = [
        [
            world.name,
            world.family,
            *(cell for kind in EXECUTIONS for cell in _regret_cells(card, world, kind)),
        ]
        for world in suite_worlds("test")
    ]
    columns = ["world", "family"]
    columns += [
        f"{what}, {WORDS[kind]}" for kind in EXECUTIONS for what in ("even", "regret", "floor", "score")
    ]
    return Table(f"Regret of {card.name} by world", columns, rows, name="worlds-long")


def floor_table(cards: Sequence[Card]) -> Table:
    """Return total regrets in units of the floor, by family: even spacing, some cards, the best of all."""
    worlds, shown = suite_worlds("test"), cards[:SHOWN_BESIDE_THE_FLOOR]
    rows = []
    for group, members in world_groups(worlds).items():
        if group == "all":
            continue
        for kind in EXECUTIONS:
            here = [worlds[i] for i in members]
            floor = sum(world.floor[kind] for world in here)
            totals = [sum(world.even[kind] for world in here)]
            totals += [sum(card.regrets[world.name, kind] for world in here) for card in shown]
            totals.append(sum(min(card.regrets[world.name, kind] for card in cards) for world in here))
            rows.append([group, WORDS[kind], str(len(here)), *(number(one / floor, ".3f") for one in totals)])
    return Table(
        "Total regret in units of the floor",
        ("worlds", "acts by", "n", "even", *(card.name for card in shown), "best in hindsight"),
        rows,
        [
            f"Best in hindsight: in each world the best of the {len(cards)} rules that know nothing of what "
            "is to come, a choice that none of them can make. The floor knows the future."
        ],
        labels=2,
        name="floors",
    )


def leaderboard_tables(cards: Sequence[Card]) -> list[Table]:
    """Return all cards best to worst, and those that know the same among themselves."""
    ranked = sorted(cards, key=lambda card: -_iqm(card))
    fair = [card for card in ranked if not card.own_world]
    tables = [_ranking(f"Suite {VERSION}, best to worst", fair, name="leaderboard", notes=NOTES)]
    for known in sorted({_known(card) for card in fair}, key=lambda words: (words.count(","), words)):
        same = [card for card in fair if _known(card) == known]
        if len(same) > 1:
            tables.append(_ranking(f"Rules that know {known}", same, name=f"knows-{len(tables)}"))
    if own := [card for card in ranked if card.own_world]:
        note = (
            "Its parameters are chosen on each world that is scored, so it does not compare with the others."
        )
        tables.append(_ranking("Tuned on its own world", own, name="own-world", notes=[note]))
    return [*tables, floor_table([card for card in fair if not _knows_ahead(card)])]


def _ranking(title: str, cards: Sequence[Card], *, name: str, notes: Sequence[str] = ()) -> Table:
    columns = ("rule", "knows", "IQM, both", *(f"IQM, {WORDS[kind]}" for kind in EXECUTIONS))
    rows = []
    for card in cards:
        both = summary(card)
        assert both is not None
        each = [summary(card, execution=kind) for kind in EXECUTIONS]
        rows.append(
            [
                TableCell(card.name),
                _known(card),
                _estimate(both.iqm),
                *(_estimate(found.iqm if found else None) for found in each),
                number(both.median.value, ".2f"),
                number(both.worst_tenth.value, ".2f"),
                number(both.worse.value, ".0%"),
                number(1000 * card.stated_by_author.decision_seconds, ".3g"),
            ]
        )
    return Table(title, (*columns, *STATISTICS, "ms"), rows, notes, labels=2, name=name)


def _known(card: Card) -> str:
    """Return what the rule knows beyond time, budget, estimate and plan, in words."""
    needs = [need for need in Need if need in card.needs and need is not Need.BUDGET]
    words = ["the state seen" if need is Need.STATE else str(need) for need in needs]
    words += [word for word in TOLD_BY_FORECAST[card.forecast] if word not in words]
    return ", ".join(words) or "time and plan alone"


def _knows_ahead(card: Card) -> bool:
    """Return whether the rule knows more than what was seen."""
    return card.forecast == "given" or not AHEAD.isdisjoint(card.needs)


def _iqm(card: Card) -> float:
    found = summary(card)
    return -np.inf if found is None else found.iqm.value


def _cells(found: Summary | None) -> list[TableCell]:
    if found is None:
        return [TableCell(MISSING)] * 4
    return [
        _estimate(found.iqm),
        number(found.median.value, ".2f"),
        number(found.worst_tenth.value, ".2f"),
        number(found.worse.value, ".0%"),
    ]


def _estimate(found: Statistic | None) -> TableCell:
    return TableCell(MISSING) if found is None else TableCell(str(found), found.value)


def _regret_cells(card: Card, world: SuiteWorld, execution: Any) -> list[TableCell]:
    regret = card.regrets[world.name, execution]
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
    return f"Knows {_known(card)}; {origin}; {took}. Suite {VERSION}, hash {card.suite.hash[:12]}."


def _plain(found: Summary | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)
