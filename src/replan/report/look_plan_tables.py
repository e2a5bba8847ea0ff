"""Tables of study `looks-and-plans`, and the heat map of `replan budget --looks --plans`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from replan.evaluation.look_plan_grid import LookPlanGrid
from replan.report.regret_words import WORDS
from replan.report.style import arrange, new_figure, style
from replan.report.tables import Table
from replan.study.records import Record, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 1e-3
"""Regret below which shares of it are left out."""


def worth_table(run: Run) -> Table:
    """Return the regret with one look or plan and with one at every step, and the looks' share of the gain.

    With one, or one at every step, there is nothing to choose: all figures are exact.
    """
    rows = []
    for record in run.records:
        floors = np.array(record["looks_and_plans"]["floors"])
        (neither, planning), (looking, both) = floors[np.ix_([0, -1], [0, -1])]
        gain = neither - both
        looks = ((neither - looking) + (planning - both)) / 2
        share = f"{looks / gain:.0%}" if gain > LEAST else ""
        figures = (f"{value:z.3f}" for value in (neither, looking, planning, both))
        rows.append((*_names(record), *figures, share))
    return Table(
        title="What looks and what plans are worth",
        columns=(
            "setting",
            "acts by",
            "one of each",
            "looks at all steps",
            "plans at all steps",
            "both",
            "looks' share",
        ),
        labels=2,
        rows=rows,
        notes=(
            f"Exact regret, ties {run.ties}. Share of looks: what they save with one plan and with one at "
            "every step, averaged, of what both save together. Above 100 %: plans alone make it worse; below "
            "0 %: looks alone do, under a plan that is out of date.",
        ),
    )


def budgets_table(run: Run) -> Table:
    """Return floor and regret of the rule for every pair of budgets."""
    rows = [row for record in run.records for row in _rows(record)]
    columns = ("L = 1", "L = 2", "L = 4", "L = 8", "L = T - 1")
    return Table(
        title="Floor and evenly spaced, by budgets of looks L and plans P",
        columns=("setting", "acts by", "plans", *columns),
        labels=3,
        rows=rows,
        notes=(
            f"Ties: {run.ties}. First the least regret found: the best looks by dynamic programme, each next "
            "one chosen by the state just seen, for plans at fixed times that a local search finds (nothing "
            "to search for 1 and T - 1 plans, nor where planning at every step gains less than 0.0005), or "
            "the best updates that are both, with what is left over at the end. Then `periodic`: looks and "
            "plans on rasters of their own.",
        ),
    )


def _names(record: Record) -> tuple[str, str]:
    return (record["setting"] if record["execution"] == "map" else "", WORDS[record["execution"]])


def _rows(record: Record) -> Iterator[tuple[str, ...]]:
    found = record["looks_and_plans"]
    pairs = np.stack([found["floors"], found["regrets"]], axis=-1)
    for column, plans in enumerate(found["plans"]):
        cells = (f"{floor:z.3f} / {even:z.3f}" for floor, even in pairs[:, column])
        yield *(_names(record) if column == 0 else ("", "")), str(plans), *cells


def look_plan_figure(grid: LookPlanGrid, *, title: str) -> Figure:
    """Draw the regret of the rule, and the floor where it is known, as heat maps over looks and plans."""
    maps = {grid.rules[0].name: grid.regrets}
    if grid.floors is not None:
        maps["best found"] = grid.floors
    highest = max(float(values.max()) for values in maps.values())
    with style():
        figure = new_figure(height=3.6, width=3.4 * len(maps) + 0.6)
        panels = np.atleast_1d(figure.subplots(1, len(maps)))
        for axes, (name, values) in zip(panels, maps.items(), strict=True):
            axes.imshow(values.T, origin="lower", cmap="viridis_r", vmin=0, vmax=highest, aspect="auto")
            for (i, j), value in np.ndenumerate(values):
                axes.text(i, j, f"{value:z.2f}", ha="center", va="center", fontsize=7, color="white")
            axes.set_xticks(range(len(grid.looks)), [str(looks) for looks in grid.looks])
            axes.set_yticks(range(len(grid.plans)), [str(plans) for plans in grid.plans])
            axes.set_xlabel("looks")
            axes.set_ylabel("plans")
            axes.set_title(f"{title}: {name}")
        return arrange(figure)
