"""From a robot's log to a world: drift with intervals, a bound, and files that other commands take."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from replan import SlipKernel
from replan.errors import InputError
from replan.robots.logs.log_drift import (
    DriftRate,
    LogWindow,
    drift_between,
    share_at,
    usual_outcomes,
    windows,
    world_arrays,
)
from replan.robots.logs.log_tables import RobotLog
from replan.worlds.cell_map import CellMap
from replan.worlds.map_file import read_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLIND_SPOT = 0.8  # a slip is seen with this probability: one in five leads where the robot was going


def summarise_table(
    log: RobotLog, out: Path, *, goal: int | None = None, drift_bound: float | None = None
) -> dict:
    """Estimate the drift of a log of states, and write OUT.npz, OUT.toml and OUT.png."""
    seen = log.seen
    states = int(max(seen.states.max(), seen.next_states.max())) + 1
    actions = int(seen.actions.max()) + 1
    goal = int(seen.next_states[-1]) if goal is None else goal
    if not 0 <= goal < states:
        raise InputError(f"--goal must be a state (0 to {states - 1}), not {goal}")
    usual = usual_outcomes(seen, states=states, actions=actions)
    found = windows(seen.times[usual.counted], usual.unusual[usual.counted], last=log.steps)
    drift = drift_between(found)
    bound = drift.high if drift_bound is None else drift_bound
    arrays = world_arrays(log, usual, found, goal=goal)
    horizon = len(arrays["probabilities"])
    arrays["drift_bounds"] = np.full(horizon - 1, bound)
    np.savez_compressed(out.with_suffix(".npz"), allow_pickle=False, **arrays)
    keys = {"world": "arrays", "file": out.with_suffix(".npz").name, **_mission(horizon)}
    out.with_suffix(".toml").write_text(tomli_w.dumps(keys))
    facts = {"states": states, "actions": actions, "usual_by": usual.by, "goal": goal}
    return _answer(log, facts, found, drift, bound, out, quantity="unusual steps")


def summarise_bag(
    log: RobotLog,
    cells: CellMap,
    map_file: Path,
    out: Path,
    *,
    ends: np.ndarray,
    drift_bound: float | None = None,
) -> dict:
    """Estimate the slip of a log of cells, and write OUT.npz, .toml and .png; `ends` are start and goal."""
    seen = log.seen
    to = SlipKernel(cells.shape, 0.0, blocked=cells.blocked).destinations()
    inner = np.array([len(set(row)) == len(row) for row in to[seen.states].tolist()])  # no wall beside it
    if not inner.any():
        raise InputError("the robot was never away from walls: no slip can be told from them")
    unusual = to[seen.states, seen.actions] != seen.next_states
    shares = windows(seen.times[inner], unusual[inner], last=log.steps)
    drift = drift_between(shares)
    bound = drift.high if drift_bound is None else drift_bound
    found = [_slip(window) for window in shares]
    slips = share_at(found, np.arange(log.steps))
    np.savez_compressed(out.with_suffix(".npz"), slip=slips, times=seen.times, states=seen.states)
    start, goal = (cells.positions_of(cells.free_state_at(end)).round(3).tolist() for end in ends)
    keys = {
        "world": "map",
        "file": os.path.relpath(map_file, out.parent),
        "cell": cells.cell,
        "inflation": cells.inflation,
        "speed": cells.cell / log.step,
        "start": start,
        "goal": goal,
        "drift_bound": bound,
        "horizon": max(log.steps, 2),
        **_mission(max(log.steps, 2)),
    }
    drift_table = {"kind": "table", "slip": [round(float(slip), 6) for slip in slips]}
    out.with_suffix(".toml").write_text(tomli_w.dumps({**keys, "drift": drift_table}))
    facts = {"cells": list(cells.shape), "start": start, "goal": goal}
    return _answer(log, facts, found, drift, bound, out, quantity="slip")


def map_cells(path: Path, *, cell: float, inflation: float) -> CellMap:
    """Return the cells of a map file."""
    return CellMap.cut(read_map(path), cell=cell, inflation=inflation)


def drift_figure(found: list[LogWindow], *, quantity: str) -> Figure:
    """Draw the share of unusual steps in each window of a log, with its interval."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 2.4), layout="constrained")
    axes = figure.subplots()
    for window in found:
        span = [window.begin, window.end]
        axes.fill_between(span, window.low, window.high, color="C0", alpha=0.2, linewidth=0)
        axes.plot(span, [window.share] * 2, color="C0")
    axes.set(xlabel="step", ylabel=quantity, ylim=(0, None))
    return figure


def _slip(window: LogWindow) -> LogWindow:
    """Return the slip behind a share of unusual steps."""
    share, low, high = (min(part / BLIND_SPOT, 1.0) for part in (window.share, window.low, window.high))
    return replace(window, share=share, low=low, high=high)


def _mission(horizon: int) -> dict[str, Any]:
    return {"planning_horizon": min(10, horizon), "budget": max(1, min(horizon - 1, horizon // 10))}


def _answer(
    log: RobotLog,
    facts: dict,
    found: list[LogWindow],
    drift: DriftRate,
    bound: float,
    out: Path,
    *,
    quantity: str,
) -> dict:
    """Draw the figure; return the facts and the names of the files."""
    drift_figure(found, quantity=quantity).savefig(out.with_suffix(".png"), dpi=180)
    return {
        "transitions": len(log.seen),
        "steps": log.steps,
        "step": log.step,
        "runs": log.runs,
        "gaps": log.gaps,
        "jumps": log.jumps,
        **facts,
        "quantity": quantity,
        "windows": [asdict(window) for window in found],
        "drift": asdict(drift),
        "drift_bound": bound,
        "files": [str(out.with_suffix(suffix)) for suffix in (".npz", ".toml", ".png")],
    }
