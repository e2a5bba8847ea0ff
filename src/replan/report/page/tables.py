"""Tables 1 to 3 of the paper for the page, its figures beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replan.report.page.headline import SAME
from replan.report.page.sortable import Cell, SortableTable, number
from replan.report.simulation_tables import comparisons, placement_figures, table_2
from replan.study.paper import METHODS, TABLE_2, TABLE_3
from replan.study.simulation import SettingResult

FLIGHT_FIGURES = ("success", "collisions", "cost")


def regret_table(results: Sequence[SettingResult], *, search: str) -> SortableTable:
    """Table 1: exact regret of every rule, the paper's figure beside it."""
    rows = []
    for result in results:
        entries = result.entries.values()
        least = min(entry.measured.exact for entry in entries)
        cells = [
            number(
                entry.measured.exact,
                beside="" if entry.paper is None else f"paper {entry.paper:.2f}",
                best=entry.measured.exact <= least + SAME,
            )
            for entry in entries
        ]
        rows.append((Cell(result.name), Cell(_size(result)), *cells))
    return SortableTable(
        "table1",
        "Table 1. Regret of each rule: ours, exact, and the paper's",
        ("setting", "n / T / H / B", *(f"{name} ({paper})" for name, paper in METHODS.items())),
        rows,
        (*_regret_notes(results, search), *comparisons(results)),
    )


def _regret_notes(results: Sequence[SettingResult], search: str) -> tuple[str, ...]:
    ties = ", ".join(sorted({result.setting.ties for result in results}))
    return (
        "In bold: the least of its row. In small print: what the paper prints, a mean over missions. Ours is "
        "the expectation itself; the table at length has our mean over missions, too. In brackets: the "
        "paper's name of the rule.",
        "n: cells along a side of the grid. T: steps of the mission. H: steps that a plan looks ahead. B: "
        "updates.",
        "What a rule can be tuned by was chosen on other missions than those measured "
        f"(candidates: {search}). Ties between equally good actions: {ties}.",
    )


def samples_table(results: Sequence[SettingResult]) -> SortableTable:
    """Table 1 at length: exact and sampled regret, with what validation chose."""
    rows = []
    for result in results:
        for method, entry in result.entries.items():
            measured = entry.measured
            low, high = f"{measured.low:.3f}", f"{measured.high:.3f}"
            rows.append(
                (
                    Cell(result.name),
                    Cell(method),
                    number(entry.paper, ".2f"),
                    number(measured.exact),
                    number(measured.sampled.regret, beside=f"{low} to {high}"),
                    Cell(", ".join(str(t) for t in entry.times)),
                    Cell(str(entry.choice.rule)),
                )
            )
    columns = (
        "setting",
        "rule",
        "paper",
        "ours, exact",
        "ours, sampled",
        "updates (first seed)",
        "as chosen",
    )
    return SortableTable(
        "table1-long", "Table 1 at length: one line for each setting and rule", columns, rows
    )


def placement_table(results: Sequence[SettingResult]) -> SortableTable:
    """Table 2: where the updates are placed."""
    names = ("precision", "coverage", "mean stale drift", "max stale drift")
    rows = []
    for method in METHODS:
        ours = placement_figures(results, method)
        pairs = [
            cell
            for mine, paper in zip(ours, TABLE_2[method], strict=True)
            for cell in (number(mine), number(paper))
        ]
        rows.append((Cell(method), *pairs))
    return SortableTable(
        "table2",
        "Table 2. Where updates are placed: ours and the paper's",
        ("rule", *(column for name in names for column in (name, f"{name}, paper"))),
        rows,
        (
            "Precision: the share of updates, after the first, that fall into intervals of fast drift. "
            "Coverage: the share of those intervals that get an update. Stale drift: how far the world has "
            "drifted since the last update, on average over the mission and at most.",
            *table_2(results).notes,
        ),
    )


def flight_table(flights: Sequence[Mapping[str, Any]] | None) -> SortableTable:
    """Table 3: simulated flights, from records with density, rule, execution and the three figures.

    A figure is a number, or a mean with its interval. Without records the paper's figures stand alone.
    """
    if flights is None:
        flights = [{"density": density, "rule": rule} for density, rules in TABLE_3.items() for rule in rules]
        notes = ("No flights were flown in this run: `replan reproduce table3` flies them.",)
    else:
        notes = ("In small print: the 95 % interval over layouts.",)
    rows = []
    for flight in flights:
        density, rule, execution = flight["density"], flight["rule"], flight.get("execution", "map")
        printed = TABLE_3.get(density, {}).get(rule) if execution == "map" else None
        pairs = [
            cell
            for k, name in enumerate(FLIGHT_FIGURES)
            for cell in (_estimate(flight.get(name)), number(printed[k] if printed else None, ".2f"))
        ]
        rows.append((Cell(density), Cell(rule), Cell(execution), *pairs))
    columns = ("obstacles", "rule", "execution", "success", "success, paper", "collisions",
               "collisions, paper", "cost", "cost, paper")  # fmt: skip
    return SortableTable(
        "table3", "Table 3. Flights of a small drone: ours, simulated, and the paper's", columns, rows, notes
    )


def _size(result: SettingResult) -> str:
    setting = result.setting
    sizes = getattr(setting, "n", "–"), getattr(setting, "horizon", "–")
    return " / ".join(str(x) for x in (*sizes, setting.planning_horizon, setting.budget))


def _estimate(figure: Any) -> Cell:
    if isinstance(figure, Mapping):
        return number(figure["mean"], ".2f", beside=f"{figure['low']:.2f} to {figure['high']:.2f}")
    return number(figure, ".2f")
