"""Figure and table of study `certificates`: true regret, certificates and theorem against the budget."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from replan.report.style import (
    BLACK,
    BLUE,
    ORANGE,
    PURPLE,
    VERMILLION,
    arrange,
    new_figure,
    style,
)
from replan.report.tables import Table
from replan.study.records import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Label, colour and line of each curve.
CURVES = {
    "theorem": ("theorem, repaired", PURPLE, "v-"),
    "boxes": ("certificate, rows free in boxes", VERMILLION, "s--"),
    "in_advance": ("certificate in advance", ORANGE, "^--"),
    "certificate": ("certificate after the fact", BLUE, "o-"),
    "regret": ("true regret", BLACK, "x:"),
}


def points(run: Run) -> list[dict[str, float]]:
    """Return one point of every curve for each budget; a bound that promises nothing is infinite."""
    return [
        {
            "budget": run.settings[record["setting"]].required_budget,
            "regret": record["exact_regret"],
            **{
                name: inf if record["certificate"][name] is None else record["certificate"][name]
                for name in CURVES
                if name in record["certificate"]
            },
        }
        for record in run.records
    ]


def _title(run: Run) -> str:
    return f"What can be promised: {run.records[0]['setting'].split()[0]}, {run.records[0]['rule']} updates"


def certificate_figure(run: Run) -> Figure:
    """Return the curves on a log scale."""
    found = points(run)
    with style():
        figure = new_figure(height=4.4, width=6.4)
        axes = figure.subplots()
        budgets = [point["budget"] for point in found]
        for field, (label, colour, line) in CURVES.items():
            if field in found[0]:
                values = [point[field] for point in found]
                hollow = {"markerfacecolor": "none", "markersize": 8} if line == "o-" else {}
                axes.plot(budgets, values, line, color=colour, label=label, **hollow)
        axes.set_yscale("log")
        axes.set_xticks(budgets)
        axes.set_xlabel("budget B (updates, evenly spaced)")
        axes.set_ylabel("regret (log scale)")
        axes.grid(visible=True, which="major")
        axes.set_title(_title(run))
        figure.legend(loc="outside lower center", ncols=2)
        return arrange(figure)


def certificate_table(run: Run) -> Table:
    """Return the numbers of the figure."""
    found = points(run)
    fields = [field for field in reversed(CURVES) if field in found[0]]
    return Table(
        _title(run),
        ("budget", *(CURVES[field][0] for field in fields)),
        [(str(point["budget"]), *(_shown(point[field]) for field in fields)) for point in found],
    )


def _shown(value: float) -> str:
    return f"{value:z.4f}" if value < 1000 else f"{value:,.0f}"
