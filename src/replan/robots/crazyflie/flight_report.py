"""Records of flights: an MCAP file that Foxglove opens, and a figure of the ways flown.

The file has poses, setpoints, poles, and updates with their reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replan import Decision
from replan.robots.crazyflie.flight import Flown
from replan.robots.crazyflie.flights import Track
from replan.robots.crazyflie.layouts import (
    CELL_SIZE,
    GOAL,
    GRID,
    POLE_RADIUS,
    SAFETY_RADIUS,
    START,
    Layout,
    centres,
    layout,
    state_of,
)
from replan.robots.logs.mcap_log import (
    FRAME,
    INFO,
    WARNING,
    McapLog,
    decision_message,
    line_message,
    path_message,
    pose_at,
    pose_message,
    stamp,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


POLE_HEIGHT = 1.0  # m

DRAWN = (("regret-guided", "map"), ("periodic", "map"), ("lookahead", "map"), ("lookahead", "belief"))
SIDE = GRID * CELL_SIZE

Message = tuple[float, str, dict[str, Any]]  # seconds, topic, message


def write_flight_log(path: str | Path, flown: Flown, layout: Layout, *, drone: int = 0) -> None:
    """Write the log of one drone's flight."""
    with McapLog(path) as log:
        for message in sorted(_messages(flown, layout, drone), key=lambda message: message[0]):
            log.add(*message)


def _messages(flown: Flown, layout: Layout, drone: int) -> list[Message]:
    log = flown.log
    found: list[Message] = [(float(log.times[0]), "/scene", _poles(layout))]
    for topic, places in (("/robot/pose", log.positions), ("/robot/setpoint", log.setpoints)):
        found += [
            (float(t), topic, pose_message(float(t), p))
            for t, p in zip(log.times, places[:, drone].tolist(), strict=True)
            if all(x == x for x in p)  # JSON has no NaN
        ]
    flight = log.positions[:, drone]
    seconds = float(log.times[-1])
    found.append((seconds, "/path", path_message(seconds, flight[~(flight != flight).any(axis=1)])))
    for event in flown.agents[drone].log:
        if event.what in ("update", "kept plan"):
            at = float(log.times[log.moves <= event.time - 1][-1])
            decision = replace(event.decision or Decision(True, ""), reason=event.why)
            found += [
                (at, "/log", line_message(at, f"{event.what} at {event.time}: {event.why}")),
                (at, "/decisions", decision_message(event.time, decision, event.state)),
            ]
    if flown.aborted:
        found.append((seconds, "/log", line_message(seconds, f"aborted: {flown.aborted}", level=WARNING)))
    if flown.landing:
        level = INFO if flown.landing.outcome == "landed" else WARNING
        found.append((seconds, "/log", line_message(seconds, str(flown.landing), level=level)))
    return found


def _poles(layout: Layout) -> dict[str, Any]:
    size = {"x": 2 * POLE_RADIUS, "y": 2 * POLE_RADIUS, "z": POLE_HEIGHT}
    cylinders = [
        {
            "pose": pose_at((x, y, POLE_HEIGHT / 2)),
            "size": size,
            "bottom_scale": 1.0,
            "top_scale": 1.0,
            "color": {"r": 0.5, "g": 0.5, "b": 0.5, "a": 1.0},
        }
        for x, y in layout.poles.tolist()
    ]
    entity = {"timestamp": stamp(0.0), "frame_id": FRAME, "id": "poles", "cylinders": cylinders}
    return {"deletions": [], "entities": [entity]}


def draw_flights(tracks: Sequence[Track], *, path: str | Path | None = None) -> Figure:
    """Draw flights, in one panel for each layout.

    Parameters
    ----------
    tracks : sequence of Track
        The flights.
    path : str or Path, optional
        File to write.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
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
        figure.savefig(path, dpi=150, bbox_inches="tight")
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
