"""Figures of one or a few curves: regret by budget, certificates by budget, and drift found in a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from replan.estimate.drift_in_log import LogWindow
from replan.evaluation.budget_curve import BudgetCurve
from replan.report.style import (
    BLACK,
    BLUE,
    ORANGE,
    PURPLE,
    VERMILLION,
    arrange,
    new_figure,
    rule_colour,
    style,
)
from replan.results.run import Run
from replan.results.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVES = {
    "theorem": ("theorem, repaired", PURPLE, "v-"),
    "boxes": ("certificate, rows free in boxes", VERMILLION, "s--"),
    "in_advance": ("certificate in advance", ORANGE, "^--"),
    "certificate": ("certificate after the fact", BLUE, "o-"),
    "regret": ("true regret", BLACK, "x:"),
}
"""Label, colour and line of each curve of study `certificates`."""


def budget_figure(
    curve: BudgetCurve,
    *,
    title: str,
    chosen: int | None = None,
    by_steps: Mapping[int, BudgetCurve] | None = None,
) -> Figure:
    """Draw the regret of the rule and the floor by budget; `chosen` marks a budget.

    `by_steps` are curves by the steps that an update takes, drawn in its place from light to dark.
    """
    name, budgets = curve.rules[0].name, np.arange(1, len(curve.regrets) + 1)
    with style():
        figure = new_figure(height=3.6, width=6.4)
        axes = figure.subplots()
        shades = np.linspace(0.35, 1.0, max(len(by_steps or {}), 1))
        for shade, (steps, each) in zip(shades, (by_steps or {}).items(), strict=False):
            label = f"{name}, updates of {steps} step{'' if steps == 1 else 's'}"
            axes.plot(budgets[: len(each.regrets)], each.regrets, "o-", color=rule_colour(name), alpha=shade,
                      label=label)  # fmt: skip
        if not by_steps:
            axes.plot(budgets, curve.regrets, "o-", color=rule_colour(name), label=name)
        if curve.floors is not None:
            axes.plot(budgets, curve.floors, "x:", color=BLACK, label="best possible")
        if chosen is not None:
            axes.axvline(chosen, color=BLACK, linewidth=0.8, label=f"{chosen} updates")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("budget B (updates)")
        axes.set_ylabel("regret")
        axes.grid(visible=True)
        axes.set_title(title)
        axes.legend()
        return arrange(figure)


def drift_figure(windows: Sequence[LogWindow], *, quantity: str) -> Figure:
    """Draw the share of unusual steps in each window of a log, with its interval."""
    with style():
        figure = new_figure(height=2.4)
        axes = figure.subplots()
        for window in windows:
            span = [window.begin, window.end]
            axes.fill_between(span, window.low, window.high, color=BLUE, alpha=0.2, linewidth=0)
            axes.plot(span, [window.share] * 2, color=BLUE)
        axes.set(xlabel="step", ylabel=quantity, ylim=(0, None))
        return figure


def points(run: Run) -> list[dict[str, float]]:
    """Return one point of every curve for each budget; infinite for a bound that promises nothing."""
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
    """Draw true regret, certificates and theorem against the budget, on a log scale."""
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
