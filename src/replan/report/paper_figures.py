"""The figures of the paper's simulation study.

Two are made of the records of study `table1`; "update timing" shows when the world changes, and when each
rule spends its updates. "Representative trajectories" shows where the robot went, and where it believed
itself to be, on a mission that is chosen by a criterion, not by hand: `representative_seed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from replan import Mission, Rule, make_mission, rollout, run_agent
from replan.errors import InputError
from replan.evaluation.agent_runs import AgentRun
from replan.report.grid_path import draw_mission, legend_handles, position_error
from replan.report.style import (
    BLACK,
    LINES,
    PRINT_WIDTH,
    QUIET,
    SHADE,
    VERMILLION,
    arrange,
    new_figure,
    rule_colour,
    save,
    shade,
    style,
    update_rows,
)
from replan.results.key import Record
from replan.results.pivot import pivot
from replan.results.run import Run
from replan.study.measures import high_drift_intervals
from replan.study.protocol import HELD_OUT_SEEDS
from replan.study.work import rule_of
from replan.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


LEGEND_HEIGHT = 0.75  # inches
MOST_ACROSS = 4
STRIP_SHARE = 0.36  # height of the error strip, of the grid's


@dataclass(frozen=True)
class TrajectoryRow:
    """One row of the figure: a mission on a grid under several rules."""

    name: str
    mission: Mission
    rules: Mapping[str, Rule] = field(repr=False)  # by the name to show
    intervals: Sequence[tuple[int, int]] = ()  # [begin, end) of fast drift


def trajectories(rows: Sequence[TrajectoryRow], *, seeds: ArrayLike = HELD_OUT_SEEDS) -> Figure:
    """Draw a row per setting and a column per rule: paths of one mission, and the error of the belief."""
    if not rows:
        raise InputError("a figure of trajectories needs at least one mission")
    for row in rows:
        if row.mission.world.grid is None or not row.rules:
            raise InputError(f"{row.name}: trajectories need a world on a grid and at least one rule")
    across = max(len(row.rules) for row in rows)
    if across > MOST_ACROSS:
        raise InputError(f"{across} rules side by side do not fit a page: show at most {MOST_ACROSS}")
    height = PRINT_WIDTH / across * (1 + STRIP_SHARE) + 1.0
    with style():
        figure = new_figure(height=0.3 + height * len(rows) + LEGEND_HEIGHT)
        figure.suptitle("Where the robot went, and where it believed itself to be", x=0.01, ha="left")
        heights = [*[height] * len(rows), LEGEND_HEIGHT]
        parts = figure.subfigures(len(rows) + 1, 1, height_ratios=heights, squeeze=False)[:, 0]
        for part, row in zip(parts[:-1], rows, strict=True):
            _draw_row(part, row, across, seeds)
        _legend(parts[-1], np.size(seeds), shaded=any(row.intervals for row in rows))
        return arrange(figure)


def representative_seed(mission: Mission, rules: Sequence[Rule], *, seeds: ArrayLike = HELD_OUT_SEEDS) -> int:
    """Return the seed whose regrets lie nearest to the rules' averages, in standard deviations."""
    return int(np.atleast_1d(seeds)[_nearest_to_average(_regrets(mission, rules, seeds))])


def _nearest_to_average(regrets: Array) -> int:
    spread = regrets.std(axis=1, keepdims=True)
    distance = (regrets - regrets.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
    return int(np.argmin((distance**2).sum(axis=0).round(9)))


def _regrets(mission: Mission, rules: Sequence[Rule], seeds: ArrayLike) -> Array:
    """(R, N) regret of every rule and seed."""
    best = rollout(mission, None, seeds).returns
    return np.stack([best - rollout(mission, rule, seeds).returns for rule in rules])


def _draw_row(part: SubFigure, row: TrajectoryRow, across: int, seeds: ArrayLike) -> None:
    mission, rules = row.mission, list(row.rules.values())
    regrets = _regrets(mission, rules, seeds)
    chosen = _nearest_to_average(regrets)
    seed = int(np.atleast_1d(seeds)[chosen])
    words = (
        f"{row.name}: {mission.horizon} steps, {mission.limit} updates "
        f"(seed {seed}, ties: {mission.robot.ties})"
    )
    part.suptitle(words, x=0.01, ha="left", fontsize=10)
    axes = part.subplots(2, across, sharey="row", height_ratios=[1, STRIP_SHARE], squeeze=False)
    for (grid, strip), (name, rule), regret in zip(
        axes.T, row.rules.items(), regrets[:, chosen], strict=False
    ):
        trace = run_agent(mission, rule, seed=seed)
        draw_mission(grid, mission, trace)
        grid.set_title(f"{name}\n", fontsize=9)
        grid.text(0, 1.03, f"regret {regret:.2f}", transform=grid.transAxes, va="bottom")
        grid.set_xlabel("column (cells)", labelpad=-8)
        _strip(strip, mission, trace, row.intervals, apart=0.025 * across * mission.horizon)
    for unused in axes[:, len(rules) :].flat:
        unused.set_visible(False)
    axes[0, 0].set_ylabel("row (cells)", labelpad=-8)
    axes[1, 0].set_ylabel("error of\nbelief (cells)")


def _strip(
    axes: Axes, mission: Mission, trace: AgentRun, intervals: Sequence[tuple[int, int]], *, apart: float
) -> None:
    """Draw the distance between believed and true cell over time, with numbered updates above."""
    error = position_error(mission, trace)
    shade(axes, intervals)
    axes.stairs(error, np.arange(len(error) + 1), fill=True, color=VERMILLION, zorder=2)
    levels: list[int] = []  # the last number's time at each height; numbers too close together go higher
    for number, time in enumerate(trace.times, start=1):
        axes.axvline(time, color=QUIET, linewidth=0.9, zorder=1, gid="update")
        level = next((k for k, last in enumerate(levels) if time - last >= apart), len(levels))
        levels[level : level + 1] = [time]
        place = (time, 1.02 + 0.2 * level)
        axes.text(*place, str(number), transform=axes.get_xaxis_transform(), ha="center", va="bottom")
    axes.set_xlim(0, mission.horizon)
    axes.set_ylim(0, max(4.0, axes.get_ylim()[1], 1.1 * float(error.max())))
    axes.grid(axis="y", color=LINES, linewidth=0.5)
    axes.set_xlabel("time (steps)")


def _legend(part: SubFigure, count: int, *, shaded: bool) -> None:
    from matplotlib.patches import Patch

    handles = [*legend_handles(), Patch(color=VERMILLION, label="error of belief")]
    if shaded:
        handles.append(Patch(color=SHADE, label="fast drift"))
    part.legend(handles=handles, loc="upper center", ncols=4)
    chosen = f"Each mission is that of {count} whose regrets lie nearest to the average of every rule shown."
    part.text(0.01, 0.02, chosen, color=QUIET, va="bottom")


TIMING_SETTING = "two-burst"
TRAJECTORY_SETTINGS = ("sparse-late-50", "three-short")
TRAJECTORY_RULES = ("periodic", "drift-threshold", "regret-guided")


def write_figures(run: Run, folder: Path) -> None:
    """Write update-timing and trajectories, each as PNG and SVG."""
    setting, rules = run.settings[TIMING_SETTING], _records(run, TIMING_SETTING)
    mission = make_mission(setting)
    figure = update_timing(
        mission,
        {rule: record["times"] for rule, record in rules.items()},
        intervals=high_drift_intervals(setting, mission),
        name=TIMING_SETTING,
        regrets={rule: record["exact_regret"] for rule, record in rules.items()},
    )
    save(figure, folder, "update-timing")
    save(trajectories([_row(run, name) for name in TRAJECTORY_SETTINGS]), folder, "trajectories")


def _row(run: Run, name: str) -> TrajectoryRow:
    setting, records = run.settings[name], _records(run, name)
    mission = make_mission(setting)
    rules = {rule: rule_of(records[rule]) for rule in TRAJECTORY_RULES}
    return TrajectoryRow(name, mission, rules, high_drift_intervals(setting, mission))


def _records(run: Run, name: str) -> dict[str, Record]:
    """Return the records of a setting by rule."""
    found = pivot(run.records, ["setting"], "rule", "exact_regret")
    return {rule: record for (row, rule), (record,) in found.records.items() if row == (name,)}


def update_timing(
    mission: Mission,
    schedules: Mapping[str, Sequence[int]],
    *,
    intervals: Sequence[tuple[int, int]],
    name: str,
    regrets: Mapping[str, float] | None = None,
) -> Figure:
    """Drift over time with its fast intervals shaded; below, a row of update marks per rule.

    `intervals` are whole times [begin, end); `regrets`, if given, are written at the end of the rows.
    """
    rows = {rule: tuple(times) for rule, times in schedules.items()}
    _check(mission, rows)
    with style():
        figure = new_figure(height=2.85 + 0.27 * len(rows))
        drift, updates = figure.subplots(2, 1, sharex=True, height_ratios=[1.5, 0.27 * len(rows)])
        figure.suptitle(f"When the world changes, and when each rule updates ({name})", x=0.01, ha="left")
        _drift(drift, mission, intervals)
        _updates(updates, mission, rows, intervals, regrets or {})
        if note := _note(mission, rows, regrets or {}):
            figure.supxlabel(note, x=0.01, ha="left", fontsize=9, color=QUIET)
        figure.align_ylabels()
        return arrange(figure)


def _drift(axes: Axes, mission: Mission, intervals: Sequence[tuple[int, int]]) -> None:
    bounds = mission.world.drift_bounds
    shade(axes, intervals)
    axes.stairs(bounds, np.arange(mission.horizon), color=BLACK, linewidth=1.6, baseline=None)
    axes.set_ylim(0, 1.25 * max(float(bounds.max()), 1e-6))
    axes.set_ylabel("greatest change of a\ntransition probability\nin one step, $ε_t$")
    axes.set_title("How fast the world changes (shaded: intervals of fast drift)")


def _updates(
    axes: Axes,
    mission: Mission,
    rows: dict[str, tuple[int, ...]],
    intervals: Sequence[tuple[int, int]],
    regrets: Mapping[str, float],
) -> None:
    shade(axes, intervals)
    update_rows(axes, rows)
    axes.set_xlim(0, mission.horizon)
    axes.set_xlabel("time (steps)")
    axes.set_ylabel("rule")
    axes.set_title(f"Each mark is one of the {mission.limit} updates that the robot may spend")
    for label, rule in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_color(rule_colour(rule))
    beside: dict[str, Any] = {"textcoords": "offset points", "ha": "left", "annotation_clip": False}
    for row, rule in enumerate(rows):
        if rule in regrets:
            end = (mission.horizon, row)
            axes.annotate(f"{regrets[rule]:.2f}", end, xytext=(14, 0), va="center", **beside)
    if regrets:
        above = (mission.horizon, -0.6)
        axes.annotate("regret", above, xytext=(14, 3), va="bottom", fontweight="bold", **beside)


def _note(mission: Mission, rows: Mapping[str, Sequence[int]], regrets: Mapping[str, float]) -> str:
    notes = []
    if regrets:
        against = "regret: what is lost, on average, against a robot that sees and knows everything"
        notes.append(f"{against} (ties: {mission.robot.ties})")
    if "random" in rows:
        notes.append("random: one draw of its times" + ("; its regret is over all draws" if regrets else ""))
    return "\n".join(notes)


def _check(mission: Mission, rows: dict[str, tuple[int, ...]]) -> None:
    if not rows:
        raise InputError("a timing figure needs the schedule of at least one rule")
    for rule, times in rows.items():
        for time in times:
            if not 1 <= time < mission.horizon:
                raise InputError(f"{rule} has an update at {time}, outside 1 to {mission.horizon - 1}")
