"""The paper's two figures of the simulation study, from the results of its tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replan.report.style import save
from replan.report.timing_figure import update_timing
from replan.report.trajectory_figure import TrajectoryRow, trajectories
from replan.study.simulation import SettingResult, high_drift_intervals
from replan.worlds.settings import make_mission

TIMING_SETTING = "two-burst"
TRAJECTORY_SETTINGS = ("sparse-late-50", "three-short")
TRAJECTORY_RULES = ("periodic", "drift-threshold", "regret-guided")


def write_figures(results: Sequence[SettingResult], folder: Path) -> None:
    """update-timing and trajectories, each as PNG and SVG."""
    by_name = {result.name: result for result in results}
    timing = by_name[TIMING_SETTING]
    mission = make_mission(timing.setting)
    figure = update_timing(
        mission,
        {name: entry.times for name, entry in timing.entries.items()},
        intervals=high_drift_intervals(timing.setting, mission),
        name=timing.name,
        regrets={name: entry.measured.exact for name, entry in timing.entries.items()},
    )
    save(figure, folder, "update-timing")
    save(trajectories([_row(by_name[name]) for name in TRAJECTORY_SETTINGS]), folder, "trajectories")


def _row(result: SettingResult) -> TrajectoryRow:
    mission = make_mission(result.setting)
    rules = {name: result.entries[name].choice.rule for name in TRAJECTORY_RULES}
    return TrajectoryRow(result.name, mission, rules, high_drift_intervals(result.setting, mission))
