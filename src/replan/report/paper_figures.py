"""The paper's two figures of the simulation study, from the records of study `table1`."""

from __future__ import annotations

from pathlib import Path

from replan.report.style import save
from replan.report.timing_figure import update_timing
from replan.report.trajectory_figure import TrajectoryRow, trajectories
from replan.study.measures import high_drift_intervals
from replan.study.records import Run, rule_of
from replan.worlds.settings import make_mission

TIMING_SETTING = "two-burst"
TRAJECTORY_SETTINGS = ("sparse-late-50", "three-short")
TRAJECTORY_RULES = ("periodic", "drift-threshold", "regret-guided")


def write_figures(run: Run, folder: Path) -> None:
    """Write update-timing and trajectories, each as PNG and SVG."""
    setting, rules = run.settings[TIMING_SETTING], run.by_setting()[TIMING_SETTING]
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
    setting, records = run.settings[name], run.by_setting()[name]
    mission = make_mission(setting)
    rules = {rule: made for rule in TRAJECTORY_RULES if (made := rule_of(records[rule])) is not None}
    return TrajectoryRow(name, mission, rules, high_drift_intervals(setting, mission))
