"""The paper's two figures of the simulation study, from the records of study `table1`.

"Update timing" shows when the world changes, and when each rule spends its updates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.report.style import (
    BLACK,
    QUIET,
    arrange,
    new_figure,
    rule_colour,
    save,
    shade,
    style,
    update_rows,
)
from replan.report.trajectory_figure import TrajectoryRow, trajectories
from replan.results.key import Record
from replan.results.pivot import pivot
from replan.results.run import Run
from replan.study.measures import high_drift_intervals
from replan.study.work import rule_of
from replan.worlds.settings import make_mission

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
