"""A figure of any study for a paper: regret of each rule by setting, with the floor, as PDF or SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from replan.errors import InputError
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
    style,
)
from replan.results.key import BEST_POSSIBLE, Record, Variant
from replan.results.pivot import group, pivot
from replan.results.run import Run, failed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
