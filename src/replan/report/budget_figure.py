"""Regret against the budget, as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replan.evaluation.budget_curve import BudgetCurve
from replan.report.style import BLACK, arrange, new_figure, rule_colour, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def budget_figure(curve: BudgetCurve, *, title: str, chosen: int | None = None) -> Figure:
    """Draw the regret of the rule and the floor; `chosen` marks a budget."""
    name, budgets = curve.rules[0].name, np.arange(1, len(curve.regrets) + 1)
    with style():
        figure = new_figure(height=3.6, width=6.4)
        axes = figure.subplots()
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
