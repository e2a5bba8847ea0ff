"""Trajectories seen from above: poles, safety radii, ways flown, and where the updates were."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from replan.study.flights import Track
from replan.worlds.crazyflie.layouts import (
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

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN = (("regret-guided", "map"), ("periodic", "map"), ("lookahead", "map"), ("lookahead", "belief"))
SIDE = GRID * CELL_SIZE


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
