"""Figures of one or a few curves: regret by budget, certificates by budget, any study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replan.errors import InputError
from replan.evaluation.scale import BudgetCurve
from replan.report.style import (
    BLACK,
    BLUE,
    GREEN,
    LINES,
    ORANGE,
    PURPLE,
    QUIET,
    SKY,
    VERMILLION,
    arrange,
    new_figure,
    rule_colour,
    save_png,
    style,
)
from replan.results.key import BEST_POSSIBLE, Record, Variant
from replan.results.pivot import group, pivot
from replan.results.run import Run, failed
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


def write_budget_figure(path: Path, curve: BudgetCurve, **drawn: Any) -> None:
    """Write the figure of `budget_figure` as a PNG file. Raises `InputError` if it cannot be written."""
    try:
        save_png(budget_figure(curve, **drawn), path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None


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
        axes.set_xlabel("budget B (updates by periodic)")
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


FIXED = {"regret-guided": VERMILLION, "lookahead": GREEN, "periodic": BLUE}
OTHERS = (ORANGE, SKY, PURPLE, QUIET, LINES)
MEASURES = {"exact_regret": "exact regret", "sampled_regret": "mean regret"}


def write_study_figures(run: Run, folder: Path, form: str) -> list[Path]:
    """Write a figure for each variant of the robot as `form`, pdf or svg, without time stamps.

    Raises
    ------
    InputError
        If no regret was measured.
    """
    done = [record for record in run.records if not failed(record)]
    groups = [(variant, found) for (variant,), found in group(done, Variant.of).items() if _measure(found)]
    if not groups:
        raise InputError(f"{run.name}: no regret was measured, so there is nothing to draw")
    stamps = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}[form]
    files = []
    for number, (variant, found) in enumerate(groups, start=1):
        name = "regret" if len(groups) == 1 else f"regret-{number}"
        path = folder / f"{name}.{form}"
        with style():
            title = "" if len(groups) == 1 else variant.title()
            regret_figure(found, title=title).savefig(path, metadata={"Creator": "replan", **stamps})
        files.append(path)
    return files


def regret_figure(records: Sequence[Record], *, title: str = "") -> Figure:
    """Draw a group of bars for each setting, one for each rule; a black line is the best possible.

    Of a rule with a grid of parameters the least regret is drawn, as in the tables.
    """
    measure = _measure(records)
    found = pivot(records, ["setting"], "rule", measure, least=True)
    settings, rules = (list(dict.fromkeys(str(each[key]) for each in records)) for key in ("setting", "rule"))
    rules = [rule for rule in rules if rule != BEST_POSSIBLE]
    heights = np.array([[_number(found[(setting,), rule]) for setting in settings] for rule in rules])
    floors = [_number(found[(setting,), BEST_POSSIBLE]) for setting in settings]
    colours = iter(OTHERS * len(rules))
    width, places = 0.8 / len(rules), np.arange(len(settings))
    with style():
        figure = new_figure(height=2.9)
        axes = figure.subplots()
        for number, (rule, row) in enumerate(zip(rules, heights, strict=True)):
            colour = FIXED.get(rule) or next(colours)
            axes.bar(places - 0.4 + (number + 0.5) * width, row, 0.92 * width, label=rule, color=colour)
        if np.isfinite(floors).any():
            axes.hlines(floors, places - 0.42, places + 0.42, color=BLACK, label=BEST_POSSIBLE)
        slanted = {"rotation": 20, "ha": "right"} if len(settings) > 5 else {}
        axes.set_xticks(places, settings, **slanted)
        axes.set_ylabel(MEASURES[measure])
        axes.set_title(title)
        axes.grid(visible=True, axis="y")
        figure.legend(loc="outside upper left", ncols=4)
        return arrange(figure)


def _measure(records: Sequence[Record]) -> str:
    """Return the regret that the records hold, the exact one first; empty for neither."""
    return next((key for key in MEASURES if any(each[key] is not None for each in records)), "")


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")
