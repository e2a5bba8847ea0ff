"""What can be promised: true regret, certificates and theorem against the budget, as a figure and a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from replan.certificates import Tightening, certify, certify_ahead, theorem
from replan.evaluation import regret
from replan.execute import Mission
from replan.report.style import (
    BLACK,
    BLUE,
    ORANGE,
    PURPLE,
    VERMILLION,
    arrange,
    new_figure,
    save,
    style,
)
from replan.report.tables import Table
from replan.schedule import FixedTimes, periodic_times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTING, BUDGETS = "two-burst", (1, 2, 3, 4, 6, 8, 12, 16, 24)
BOXES = Tightening(both_ends=False, one_kernel=False, structure=False)
NAME = "certificates"


@dataclass(frozen=True)
class Promises:
    """What a periodic schedule of one budget costs, and what can be promised of it."""

    budget: int
    regret: float
    certificate: float  # after the fact
    in_advance: float | None  # None for belief execution
    boxes: float  # the plain certificate: boxes around the last estimate, a difference of two
    theorem: float


# Label, colour and line of each curve, by the field of `Promises`.
CURVES = {
    "theorem": ("theorem, repaired", PURPLE, "v-"),
    "boxes": ("certificate, rows free in boxes", VERMILLION, "s--"),
    "in_advance": ("certificate in advance", ORANGE, "^--"),
    "certificate": ("certificate after the fact", BLUE, "o-"),
    "regret": ("true regret", BLACK, "x:"),
}


def promises(mission: Mission, budgets: Iterable[int]) -> Iterator[Promises]:
    """One point of every curve for each budget, with the periodic schedule."""
    for budget in budgets:
        spending = replace(mission, budget=budget)
        times = periodic_times(mission.horizon, budget)
        yield Promises(
            budget,
            regret(spending, FixedTimes(times)),
            certify(spending, times).value,
            certify_ahead(spending, times).value if mission.execution == "map" else None,
            certify(spending, times, tightening=BOXES).value,
            theorem(spending, times).total,
        )


def certificate_figure(points: Sequence[Promises], *, title: str = "") -> Figure:
    """The curves of `promises`, on a log scale."""
    with style():
        figure = new_figure(height=4.4, width=6.4)
        axes = figure.subplots()
        budgets = [point.budget for point in points]
        for field, (label, colour, line) in CURVES.items():
            values = [getattr(point, field) for point in points]
            if None not in values:
                hollow = {"markerfacecolor": "none", "markersize": 8} if line == "o-" else {}
                axes.plot(budgets, values, line, color=colour, label=label, **hollow)
        axes.set_yscale("log")
        axes.set_xticks(budgets)
        axes.set_xlabel("budget B (updates, evenly spaced)")
        axes.set_ylabel("regret (log scale)")
        axes.grid(visible=True, which="major")
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=2)
        return arrange(figure)


def certificate_table(points: Sequence[Promises], *, title: str = "") -> Table:
    """The numbers of the figure."""
    fields = [field for field in reversed(CURVES) if getattr(points[0], field) is not None]
    return Table(
        title,
        ("budget", *(CURVES[field][0] for field in fields)),
        tuple((str(point.budget), *(_shown(getattr(point, field)) for field in fields)) for point in points),
    )


def _shown(value: float) -> str:
    return f"{value:z.4f}" if value < 1000 else f"{value:,.0f}"


def write_certificates(points: Sequence[Promises], folder: Path) -> Table:
    """Figure and table of `SETTING` as certificates.png, .svg, .md and .tex."""
    title = f"What can be promised: {SETTING}, periodic updates"
    save(certificate_figure(points, title=title), folder, NAME)
    table = certificate_table(points, title=title)
    table.write(folder, NAME)
    return table
