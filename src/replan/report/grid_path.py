"""One mission drawn on its grid: true path, believed path, numbered updates, start and goal."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from replan import Mission, SlipKernel
from replan.evaluation.agent_runs import AgentRun
from replan.report.style import BLACK, BLUE, GREEN, INK, LINES, ORANGE, QUIET, VERMILLION
from replan.typing import Array, Indices

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

GOLDEN_ANGLE = np.pi * (3 - 5**0.5)
FIRST_RADIUS, LAST_RADIUS = 0.2, 0.4  # cells; how far from its centre a cell's second and later visits go
WINDOW, ENLARGED = 4, 8  # cells: the busiest square of this side is drawn again, as large as that many

Box = tuple[int, int, int, int]  # least column, least row, columns, rows

CORRECTION = "error found by an update"

LOOKS: dict[str, dict[str, Any]] = {
    "true path": {"color": BLUE, "linewidth": 1.6, "zorder": 3},
    "believed path": {"color": ORANGE, "linewidth": 1.4, "linestyle": (0, (2.5, 1.2)), "zorder": 4},
    CORRECTION: {"color": VERMILLION, "linewidth": 1.2, "linestyle": (0, (1, 1)), "zorder": 4},
    "update": {"color": BLACK, "linestyle": "none", "marker": "D", "markersize": 4.5, "zorder": 6},
    "start": {
        "color": "white",
        "linestyle": "none",
        "marker": "s",
        "markersize": 9,
        "markeredgecolor": INK,
        "zorder": 2,
    },
    "goal": {
        "color": GREEN,
        "linestyle": "none",
        "marker": "*",
        "markersize": 13,
        "markeredgecolor": "none",
        "zorder": 2,
    },
}


def draw_mission(axes: Axes, mission: Mission, trace: AgentRun) -> None:
    """Draw the mission on a grid with rows downwards, and its busiest cells enlarged if there is room."""
    assert mission.world.grid is not None
    rows, columns = mission.world.grid
    whole = (0, 0, columns, rows)
    _grid(axes, mission, whole)
    _paths(axes, mission, trace)
    window, room = _enlargement(trace, mission.world.grid)
    inside = np.zeros(len(trace.times), dtype=bool)
    if room is not None:
        x, y, wide, high = room
        place = (x - 0.3, y + 0.5, wide - 1.2, high - 1.2)  # the row above is for its caption
        larger = axes.inset_axes(place, transform=axes.transData, zorder=5)
        _grid(larger, mission, window)
        larger.set(xticks=[], yticks=[], label="enlarged")
        _frame(larger)
        larger.text(0, 1.02, "enlarged", transform=larger.transAxes, va="bottom", color=QUIET)
        axes.indicate_inset((window[0] - 0.6, window[1] - 0.6, window[2] + 0.2, window[3] + 0.2),
                            edgecolor=QUIET, linewidth=0.8, alpha=1)  # fmt: skip
        _paths(larger, mission, trace)
        inside = _within(centres(trace.states[list(trace.times)], columns), window)
        _numbers(larger, mission, trace, np.flatnonzero(inside), window, clearance=0.45)
    _numbers(axes, mission, trace, np.flatnonzero(~inside), whole, clearance=1.1, avoid=room)


def position_error(mission: Mission, trace: AgentRun) -> Array:
    """(T,) cells between the believed and the true cell, steps along rows plus steps along columns."""
    assert mission.world.grid is not None
    columns = mission.world.grid[1]
    true, believed = centres(trace.states[:-1], columns), centres(trace.believed, columns)
    return np.abs(true - believed).sum(axis=1)


def centres(states: Indices, columns: int) -> Array:
    """(N, 2) column and row of each state, which are x and y."""
    return np.stack([states % columns, states // columns], axis=1).astype(float)


def spread_visits(states: Indices, columns: int) -> Array:
    """(N, 2) a point per time: first visits at the centre of their cell, later ones each beside it."""
    visits: dict[int, int] = {}
    points = centres(states, columns)
    previous = None
    for point, state in zip(points, states.tolist(), strict=True):
        if state != previous:
            visits[state] = visits.get(state, -1) + 1
        if visit := visits[state]:
            radius = LAST_RADIUS - (LAST_RADIUS - FIRST_RADIUS) / visit**0.5
            point += radius * np.array([np.cos(visit * GOLDEN_ANGLE), np.sin(visit * GOLDEN_ANGLE)])
        previous = state
    return points


def legend_handles() -> list[Line2D]:
    """Return the legend of lines and marks."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], label=label, **look) for label, look in LOOKS.items()]


def _paths(axes: Axes, mission: Mission, trace: AgentRun) -> None:
    assert mission.world.grid is not None
    columns = mission.world.grid[1]
    true = spread_visits(trace.states, columns)
    axes.plot(*true.T, label="true path", **LOOKS["true path"])
    for begin, end in pairwise([0, *trace.times, mission.horizon]):
        expected = _expected(mission, trace, begin, end)
        cells = np.append(trace.believed[begin:end], expected)
        axes.plot(*spread_visits(cells, columns).T, label="believed path", **LOOKS["believed path"])
        if end < mission.horizon and expected != trace.states[end]:
            line = np.stack([centres(np.array([expected]), columns)[0], true[end]])
            axes.plot(*line.T, label=CORRECTION, **LOOKS[CORRECTION])
    axes.plot(*true[list(trace.times)].T, label="update", **LOOKS["update"])


def _expected(mission: Mission, trace: AgentRun, begin: int, end: int) -> int:
    """Return the likeliest cell at `end`, before an update there, of a robot last updated at `begin`."""
    most_likely = mission.update(begin).kernel.most_likely()
    return int(most_likely[trace.believed[end - 1], trace.actions[end - 1]])


def _grid(axes: Axes, mission: Mission, window: Box) -> None:
    world = mission.world
    assert world.grid is not None
    columns = world.grid[1]
    x, y, wide, high = window
    axes.set(xlim=(x - 0.6, x + wide - 0.4), ylim=(y + high - 0.4, y - 0.6), aspect="equal")
    axes.set_xticks([x, x + wide - 1])
    axes.set_yticks([y, y + high - 1])
    axes.vlines(
        np.arange(x, x + wide + 1) - 0.5, y - 0.5, y + high - 0.5, color=LINES, linewidth=0.5, zorder=1
    )
    axes.hlines(
        np.arange(y, y + high + 1) - 0.5, x - 0.5, x + wide - 0.5, color=LINES, linewidth=0.5, zorder=1
    )
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    kernel = world.kernel(0)
    if isinstance(kernel, SlipKernel) and kernel.blocked.any():
        blocked = centres(np.flatnonzero(kernel.blocked), columns)
        axes.plot(*blocked.T, linestyle="none", marker="s", markersize=7, color=QUIET, label="blocked")
    axes.plot(*centres(np.array([world.start]), columns).T, label="start", **LOOKS["start"])
    rewarded = world.reward(0).next_state
    if rewarded is not None:
        goal = np.flatnonzero(rewarded == rewarded.max())
        axes.plot(*centres(goal, columns).T, label="goal", **LOOKS["goal"])


def _frame(axes: Axes) -> None:
    for spine in axes.spines.values():
        spine.set(visible=True, color=QUIET, linewidth=0.8)


def _enlargement(trace: AgentRun, grid: tuple[int, int]) -> tuple[Box, Box | None]:
    """Return the busiest square of cells, and a corner that no path enters (None: there is none)."""
    rows, columns = grid
    cells = centres(np.concatenate([trace.states, trace.believed]), columns)
    windows = [
        (x, y, WINDOW, WINDOW)
        for y, x in product(range(max(rows - WINDOW, 0) + 1), range(max(columns - WINDOW, 0) + 1))
    ]
    busiest = max(windows, key=lambda window: int(_within(cells, window).sum()))
    corners = [
        (x, y, ENLARGED, ENLARGED)
        for y, x in product((rows - ENLARGED, 0), (0, columns - ENLARGED))
        if x >= 0 and y >= 0
    ]
    return busiest, next((box for box in corners if not _within(cells, box).any()), None)


def _within(points: Array, box: Box) -> np.ndarray:
    """(N,) whether each point lies in a cell of the box."""
    corner, size = np.array(box[:2]), np.array(box[2:])
    inside = (points >= corner - 0.5) & (points < corner + size - 0.5)
    return inside[:, 0] & inside[:, 1]


def _numbers(
    axes: Axes,
    mission: Mission,
    trace: AgentRun,
    which: Indices,
    box: Box,
    *,
    clearance: float,
    avoid: Box | None = None,
) -> None:
    """Write the numbers of the updates near their cells, clear of paths and other numbers, with a leader."""
    assert mission.world.grid is not None
    columns = mission.world.grid[1]
    true = spread_visits(trace.states, columns)
    lines = true, spread_visits(trace.believed, columns)
    taken = np.concatenate([*lines, *((line[1:] + line[:-1]) / 2 for line in lines)])
    x, y, wide, high = box
    places = np.array(list(product(np.arange(x, x + wide - 0.9, 0.25), np.arange(y, y + high - 0.9, 0.25))))
    if avoid is not None:
        places = places[~_within(places, avoid)]
    in_cell: dict[int, list[int]] = {}
    for k in which.tolist():
        in_cell.setdefault(int(trace.states[trace.times[k]]), []).append(k)
    for members in in_cell.values():
        numbers = [str(k + 1) for k in members]
        point = true[trace.times[members[0]]]
        place = _free_place(point, places, taken, clearance)
        aside = place[0] - point[0]
        extent = np.outer(np.arange(len(numbers)), (0.6 * np.sign(aside), 0))
        taken = np.vstack([taken, place + extent])
        axes.annotate(
            ", ".join(numbers), tuple(point), xytext=tuple(place), va="center", zorder=7,
            ha="center" if abs(aside) < 0.3 else "right" if aside < 0 else "left",
            arrowprops={"arrowstyle": "-", "color": QUIET, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 2},
        )  # fmt: skip


def _free_place(point: Array, places: Array, taken: Array, clearance: float) -> Array:
    """Return the nearest place clear of everything taken, or the clearest one."""
    room = np.linalg.norm(places[:, None] - taken, axis=2).min(axis=1)
    free = places[room >= min(clearance, room.max())]
    return free[np.argmin(np.linalg.norm(free - point, axis=1).round(9))]
