"""Study `forecast`: regret by forecast, and where the forecast is wrong."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from replan.report.reports import REPORTS, table_of
from replan.report.style import arrange, new_figure, rule_colour, save, style
from replan.results.key import BEST_POSSIBLE
from replan.results.pivot import Pivot, pivot
from replan.results.run import Run
from replan.results.table import Table, number
from replan.typing import Execution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RIGHT = ("frozen", "trend", "mixture", "given")
ERRORS = (-0.6, -0.3, -0.1, 0.0, 0.1, 0.3, 0.6)
"""Of the change that is foretold."""
LATE = ("given, late 2", "given, late 5")
RULES = ("periodic", "lookahead")
"""That the totals compare."""
BLIND: dict[Execution, str] = {"map": "by the likeliest cell", "belief": "by weighing all cells it may be in"}
"""Executions of the study, in words."""


def regrets(run: Run) -> Pivot:
    """Return the exact regrets by setting, execution and rule, and forecast."""
    return pivot(run.records, ["setting", "execution", "rule"], "forecast", "exact_regret")


def with_error(error: float, kind: str = "given") -> str:
    """Return the name of a given forecast with this error, by itself or in a mixture."""
    return f"{kind}, error {error:g}" if error or kind == "mixture" else kind


def in_words(forecast: str) -> str:
    """Return the name of a forecast with its fault in words."""
    kind, _, fault = forecast.partition(", ")
    if not fault:
        return kind
    name, value = fault.split()
    if name == "late":
        return f"{kind}, {value} steps late"
    error = float(value)
    if error == 0:
        return f"{kind}, the true future one of its models"
    return f"{kind}, {abs(error):.0%} too {'little' if error < 0 else 'much'}".replace("%", " %")


@table_of("forecast", "forecast")
def forecast_table(run: Run) -> Table:
    """Return the regret of every rule by what the robot expects."""
    found = regrets(run)
    forecasts = (*RIGHT, *(with_error(error) for error in ERRORS if error), *LATE)
    parts = (list(dict.fromkeys(part)) for part in zip(*found.rows, strict=True))
    rows = [(*row, *(number(found[row, each], "z.3f") for each in forecasts)) for row in product(*parts)]
    return Table(
        title="Regret by what the robot expects",
        columns=(
            "setting", "", "rule", *RIGHT, *(f"{100 * error:+.0f} %" for error in ERRORS if error),
            "2 late", "5 late",
        ),
        labels=3,
        rows=rows,
        notes=(
            f"Exact regret, ties {run.ties}, every rule with its defaults. given: the true future; then the "
            "change foretold since the update is so much more or less than the true one, or comes so many "
            f"steps late. {BEST_POSSIBLE}: the floor of a robot with that forecast.",
        ),
    )  # fmt: skip


@table_of("forecast", "forecast-totals")
def totals_table(run: Run) -> Table:
    """Return totals over the settings with forecasts made wrong, as multiples of that of `frozen`."""
    found = regrets(run)
    forecasts = dict.fromkeys(forecast for row, forecast in found.records if row[2] in RULES)
    columns = [(rule, execution) for rule in RULES for execution in BLIND]
    rows = []
    for forecast in forecasts:
        shares = [_total(found, *column, forecast) / _total(found, *column, "frozen") for column in columns]
        rows.append((in_words(forecast), *(f"{share:.2f}" for share in shares)))
    settings = len(_settings(found))
    sums = (f"{_total(found, *column, 'frozen'):.2f}" for column in columns)
    return Table(
        title="What a forecast is worth in all, and what a wrong one costs",
        columns=("forecast", *(f"{rule}, {execution}" for rule, execution in columns)),
        rows=rows,
        notes=(
            f"Total exact regret over the {settings} thin-ice, crosswind and terrain settings, as a multiple "
            f"of the robot's that expects nothing to move ({', '.join(sums)}). given: the true future, or so "
            "much too little or too much of its change, or so many steps late; then the same as a model of "
            "mixture.",
        ),
    )


def forecast_figure(run: Run) -> Figure:
    """Draw the total regret against the error of the forecast."""
    found = regrets(run)
    with style():
        figure = new_figure(height=3.6)
        panels = figure.subplots(1, len(BLIND), sharey=True)
        for axes, execution in zip(panels, BLIND, strict=True):
            for rule in RULES:
                _curves(axes, found, execution, rule)
            axes.set_title(f"acting {BLIND[execution]}")
            axes.set_xlabel("error of the change that is foretold")
            axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:+.0f} %" if value else "0")
            axes.set_ylim(bottom=0)
            axes.grid(visible=True)
        panels[0].set_ylabel(f"total regret, {len(_settings(found))} settings")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return arrange(figure)


def _curves(axes: Axes, found: Pivot, execution: str, rule: str) -> None:
    colour = rule_colour(rule)
    given = [_total(found, rule, execution, with_error(error)) for error in ERRORS]
    axes.plot(ERRORS, given, "o-", color=colour, label=f"{rule}, as foretold")
    hedged = (-0.6, 0.0, 0.6)
    mixed = [_total(found, rule, execution, with_error(error, "mixture")) for error in hedged]
    axes.plot(hedged, mixed, "s:", color=colour, label=f"{rule}, foretold as one of several (mixture)")
    frozen = _total(found, rule, execution, "frozen")
    axes.axhline(frozen, color=colour, linestyle="--", linewidth=1, label=f"{rule}, expecting no change")


def _settings(found: Pivot) -> list[str]:
    """Return the settings in which a forecast was made wrong."""
    return list(dict.fromkeys(row[0] for row, forecast in found.records if forecast == LATE[0]))


def _total(found: Pivot, rule: str, execution: str, forecast: str) -> float:
    return sum(found[(setting, execution, rule), forecast] for setting in _settings(found))


REPORTS["forecast"].figures.append(lambda run, folder: save(forecast_figure(run), folder, "forecast"))
