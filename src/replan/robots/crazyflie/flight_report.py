"""Table 3 and its figure: success, collisions and cost of flights beside the paper's, and the ways flown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replan.model.kernel import Array
from replan.report.reproduction import FIGURES, TABLES
from replan.report.tables import Table
from replan.robots.crazyflie.flight import COLLISION_LENGTH, FlightOutcome
from replan.robots.crazyflie.flights import Track
from replan.robots.crazyflie.layouts import (
    CELL_SIZE,
    GOAL,
    GRID,
    POLE_RADIUS,
    SAFETY_RADIUS,
    START,
    centres,
    layout,
    state_of,
)
from replan.study.paper import TABLE_3
from replan.study.protocol import bootstrap_interval
from replan.study.records import Record, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {"none": "no obstacles", "sparse": "sparse obstacles", "dense": "dense obstacles"}
COLUMNS = ("rule", "", "success", "paper", "collisions", "paper", "cost", "paper", "cost difference")
REFERENCE = ("regret-guided", "map")  # the others' costs are compared with it, or else with the first row
DRAWN = (("regret-guided", "map"), ("periodic", "map"), ("lookahead", "map"), ("lookahead", "belief"))
SIDE = GRID * CELL_SIZE


def table_3(run: Run) -> list[Table]:
    """Return one table for each density, none if the run holds no flights."""
    if not any(record.get("flights") for record in run.records):
        return []
    first = run.records[0]
    present = {(record["rule"], record["execution"]) for record in run.records}
    reference = REFERENCE if REFERENCE in present else (first["rule"], first["execution"])
    rows = _rows(run, reference)
    trial, layouts = first["trial"], first["layouts"]
    return [
        Table(
            title=f"Table 3, {TITLES[density]}: {layouts} layouts, simulated Crazyflie",
            columns=COLUMNS,
            labels=2,
            rows=[_cells(row) for row in rows if row["density"] == density],
            notes=_notes([row for row in rows if row["density"] == density], trial, reference),
            name=f"table3-{density}",
        )
        for density in dict.fromkeys(row["density"] for row in rows)
    ]


def _rows(run: Run, reference: tuple[str, str]) -> list[Mapping[str, Any]]:
    """The mean figures of every density, rule and execution, with their intervals over layouts."""
    costs = {_key(record): _figures(record, "cost") for record in run.records}
    return [
        {
            "density": record["density"],
            "rule": record["rule"],
            "execution": record["execution"],
            "success": _proportion(_figures(record, "success")),
            "collisions": _mean(_figures(record, "collisions")),
            "cost": _mean(costs[_key(record)]),
            "cost_difference": _mean(
                costs[_key(record)] - costs.get((record["density"], *reference), costs[_key(record)])
            ),
        }
        for record in run.records
    ]


def _key(record: Record) -> tuple[str, str, str]:
    return record["density"], record["rule"], record["execution"]


def _figures(record: Mapping[str, Any], name: str) -> Array:
    """(L,) of every layout."""
    return np.array([float(each[name]) for each in record["flights"]["outcomes"]])


def _mean(values: Array) -> dict[str, float]:
    low, high = bootstrap_interval(values)
    return {"mean": float(values.mean()), "low": low, "high": high}


def _proportion(successes: Array) -> dict[str, float]:
    """Wilson's interval."""
    from scipy.stats import binomtest

    result = binomtest(int(successes.sum()), len(successes))
    interval = result.proportion_ci(method="wilson")
    return {"mean": float(result.statistic), "low": float(interval.low), "high": float(interval.high)}


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    printed = TABLE_3[row["density"]].get(row["rule"]) if row["execution"] == "map" else None
    paper = [f"{value:.2f}" for value in printed] if printed else ["", "", ""]
    ours = [_text(row[name]) for name in ("success", "collisions", "cost")]
    beside = [cell for pair in zip(ours, paper, strict=True) for cell in pair]
    star = " *" if _differs(row) else ""
    return (row["rule"], row["execution"], *beside, _text(row["cost_difference"], "+.2f") + star)


def _notes(rows: Sequence[Mapping[str, Any]], trial: int, reference: tuple[str, str]) -> list[str]:
    others = [row for row in rows if (row["rule"], row["execution"]) != reference]
    inside = sum(not _differs(row) for row in others)
    return [
        f"Seed {trial}, ties first, kappa {COLLISION_LENGTH:g} m. In brackets 95 % intervals over layouts "
        "(Wilson for success, bootstrap for the others).",
        f"Cost difference: to {reference[0]} with {reference[1]} execution on the same layouts. A star marks "
        f"an interval that leaves out 0; {inside} of {len(others)} differences cannot be told from 0.",
    ]


def _differs(row: Mapping[str, Any]) -> bool:
    return row["cost_difference"]["low"] > 0 or row["cost_difference"]["high"] < 0


def _text(estimate: dict[str, float], form: str = ".2f") -> str:
    return f"{estimate['mean']:{form}} [{estimate['low']:{form}}, {estimate['high']:{form}}]"


def drawn_tracks(run: Run) -> list[Track]:
    """Return the flights over the layout that is kept for the figure."""
    return [
        Track(
            record["density"],
            drawn["number"],
            record["rule"],
            record["execution"],
            np.array(drawn["path"]).reshape(-1, 2),
            np.array(drawn["updates"]).reshape(-1, 2),
            tuple(drawn["update_times"]),
            FlightOutcome(**record["flights"]["outcomes"][drawn["number"]]),
        )
        for record in run.records
        for drawn in [record["flights"]["drawn"]]
    ]


def flight_figure(tracks: Sequence[Track], *, path: str | Path | None = None) -> Figure:
    """One panel for each layout among the tracks; the figure, also written to `path` where given."""
    from matplotlib.figure import Figure

    panels: dict[tuple, list[Track]] = {}
    for made in tracks:
        panels.setdefault((made.density, made.number), []).append(made)
    figure = Figure(figsize=(5.2 * len(panels), 6.8))
    figure.subplots_adjust(left=0.2 / (1 + len(panels)), right=0.98, top=0.95, bottom=0.29, wspace=0.2)
    for k, ((density, number), here) in enumerate(panels.items()):
        axes = figure.add_subplot(1, len(panels), k + 1)
        _draw_field(axes, layout(density, number))
        for colour, made in enumerate(_chosen(here)):
            _draw_track(axes, made, f"C{colour}")
        axes.plot([], [], "o", color="0.3", markeredgecolor="white", label="update")
        axes.set_title(f"{density}, layout {number}")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.11), frameon=False, fontsize="small")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _chosen(tracks: Sequence[Track]) -> list[Track]:
    """A few of many, all of few."""
    if len(tracks) <= len(DRAWN):
        return list(tracks)
    return [made for made in tracks if (made.rule, made.execution) in DRAWN]


def _draw_field(axes, field) -> None:
    from matplotlib.patches import Circle

    for k, (x, y) in enumerate(field.poles):
        outer, inner = ("safety radius", "pole") if k == 0 else (None, None)
        axes.add_patch(Circle((x, y), SAFETY_RADIUS, color="0.9", zorder=0, label=outer))
        axes.add_patch(Circle((x, y), POLE_RADIUS, color="0.4", zorder=1, label=inner))
    for cell, mark, name, side in ((START, "s", "start", 10), (GOAL, "*", "goal", -34)):
        x, y = centres(state_of(cell))
        axes.plot(x, y, mark, color="black", markersize=10, zorder=3)
        axes.annotate(name, (x, y), xytext=(side, -4), textcoords="offset points", fontsize="small")
    axes.set(xlim=(0, SIDE), ylim=(SIDE, 0), xlabel="x (m)", ylabel="y (m)", aspect="equal")


def _draw_track(axes, made: Track, colour: str) -> None:
    end = "reached the goal" if made.outcome.success else "failed"
    events = made.outcome.collisions
    label = f"{made.rule} ({made.execution}): {end}, {events} collision{'' if events == 1 else 's'}"
    axes.plot(*made.path.T, "-", color=colour, linewidth=1.2, label=label, zorder=2)
    axes.plot(*made.updates.T, "o", color=colour, markersize=5, markeredgecolor="white", zorder=4)


for _study in ("table3", "table3-report"):
    TABLES[_study] = lambda run: {run.name: table_3(run)}
FIGURES["table3"] = lambda run, folder: flight_figure(drawn_tracks(run), path=folder / "flights.png")
