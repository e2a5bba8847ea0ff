"""A figure of what can be promised: true regret, certificates and theorem against the budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from replan.certify import Tightening, certify, certify_ahead, theorem
from replan.evaluate import regret
from replan.execute import Mission
from replan.schedule import FixedTimes, periodic_times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOXES = Tightening(both_ends=False, one_kernel=False, one_slip=False)


@dataclass(frozen=True)
class Promises:
    """What a periodic schedule of one budget costs, and what can be promised of it."""

    budget: int
    regret: float
    certificate: float  # after the fact
    in_advance: float | None  # None for belief execution
    boxes: float  # the plain certificate: boxes around the last estimate, a difference of two
    theorem: float


def promises(mission: Mission, budgets: Iterable[int]) -> list[Promises]:
    """One point of every curve for each budget, with the periodic schedule."""
    found = []
    for budget in budgets:
        spending = replace(mission, budget=budget)
        times = periodic_times(mission.horizon, budget)
        found.append(
            Promises(
                budget,
                regret(spending, FixedTimes(times)),
                certify(spending, times).value,
                certify_ahead(spending, times).value if mission.execution == "map" else None,
                certify(spending, times, tightening=BOXES).value,
                theorem(spending, times).total,
            )
        )
    return found


def certificate_figure(points: list[Promises], *, title: str = "", path: str | Path | None = None) -> Figure:
    """The curves of `promises`; written to `path` where one is given."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    budgets = [point.budget for point in points]
    curves = [
        ("theorem, repaired", [p.theorem for p in points], "#9467bd", "v-"),
        ("certificate, rows free in boxes", [p.boxes for p in points], "#d62728", "s--"),
        ("certificate in advance, one slip", [p.in_advance for p in points], "#ff7f0e", "^--"),
        ("certificate after the fact, one slip", [p.certificate for p in points], "#1f77b4", "o-"),
        ("true regret", [p.regret for p in points], "black", "x:"),
    ]
    for label, values, colour, style in curves:
        if None not in values:
            hollow = {"markerfacecolor": "none", "markersize": 8} if style == "o-" else {}
            axes.plot(budgets, values, style, color=colour, label=label, **hollow)
    axes.set_yscale("log")
    axes.set_xticks(budgets)
    axes.set_xlabel("budget B (updates, evenly spaced)")
    axes.set_ylabel("regret (log scale)")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.set_title(title)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
