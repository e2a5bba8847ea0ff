"""Tables and figure of study `forecast`: regret by forecast, and where the forecast is wrong."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from replan.report.regret_words import ACTING
from replan.report.style import arrange, new_figure, rule_colour, style
from replan.report.tables import MISSING, Table
from replan.study.cells import BEST_POSSIBLE
from replan.study.records import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RIGHT = ("frozen", "trend", "mixture", "given")
ERRORS = (-0.6, -0.3, -0.1, 0.0, 0.1, 0.3, 0.6)
"""Of the change that is foretold."""
LATE = ("given, late 2", "given, late 5")
RULES = ("periodic", "lookahead")
"""That the totals compare."""

Regrets = dict[tuple[str, str, str, str], float]
"""By setting, execution, rule and forecast."""


def regrets(run: Run) -> Regrets:
    """Return the exact regrets of a run."""
    return {
        (each["setting"], each["execution"], each["rule"], each["forecast"]): each["exact_regret"]
        for each in run.records
    }


def with_error(error: float, kind: str = "given") -> str:
    """Return the name of a given forecast with this error, alone or as a member of a mixture."""
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


def forecast_table(run: Run) -> Table:
    """Return the regret of every rule by what the robot expects."""
    found = regrets(run)
    forecasts = (*RIGHT, *(with_error(error) for error in ERRORS if error), *LATE)
    settings, executions, rules, _ = (list(dict.fromkeys(part)) for part in zip(*found, strict=True))
    rows = [
        (
            *names,
            *(f"{found[*names, each]:z.3f}" if (*names, each) in found else MISSING for each in forecasts),
        )
        for names in product(settings, executions, rules)
    ]
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


def totals_table(run: Run) -> Table:
    """Return totals over the settings with forecasts made wrong, as multiples of that of `frozen`."""
    found = regrets(run)
    forecasts = dict.fromkeys(key[3] for key in found if key[2] in RULES)
    columns = [(rule, execution) for rule in RULES for execution in ACTING]
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
        panels = figure.subplots(1, len(ACTING), sharey=True)
        for axes, (execution, words) in zip(panels, ACTING.items(), strict=True):
            for rule in RULES:
                _curves(axes, found, execution, rule)
            axes.set_title(f"acting {words}")
            axes.set_xlabel("error of the change that is foretold")
            axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:+.0f} %" if value else "0")
            axes.set_ylim(bottom=0)
            axes.grid(visible=True)
        panels[0].set_ylabel(f"total regret, {len(_settings(found))} settings")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return arrange(figure)


def _curves(axes: Axes, found: Regrets, execution: str, rule: str) -> None:
    colour = rule_colour(rule)
    given = [_total(found, rule, execution, with_error(error)) for error in ERRORS]
    axes.plot(ERRORS, given, "o-", color=colour, label=f"{rule}, as foretold")
    hedged = (-0.6, 0.0, 0.6)
    mixed = [_total(found, rule, execution, with_error(error, "mixture")) for error in hedged]
    axes.plot(hedged, mixed, "s:", color=colour, label=f"{rule}, foretold as one of several (mixture)")
    frozen = _total(found, rule, execution, "frozen")
    axes.axhline(frozen, color=colour, linestyle="--", linewidth=1, label=f"{rule}, expecting no change")


def _settings(found: Regrets) -> list[str]:
    """Return the settings in which a forecast was made wrong."""
    return list(dict.fromkeys(setting for setting, *_, forecast in found if forecast == LATE[0]))


def _total(found: Regrets, rule: str, execution: str, forecast: str) -> float:
    return sum(found[setting, execution, rule, forecast] for setting in _settings(found))
