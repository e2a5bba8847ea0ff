"""A robot's log as a CSV table: real-valued times, several runs and gaps.

Its columns are t, s, a and, if the log has it, next: without it the next row's state follows. Times become
steps of a given length; a clock that goes back begins another run, whose time starts at 0 again.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from replan import Transitions
from replan.errors import InputError
from replan.typing import Array

COLUMNS = ("t", "s", "a", "next")
GAP = 2.5  # a pause of more steps is a gap
NEAR = 0.6  # a row tells the state of a step that is at most this many steps away
_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0}


@dataclass(frozen=True)
class RobotLog:
    """Transitions in order of time, and what was found on the way to them."""

    seen: Transitions
    """The transitions."""
    step: float
    """Length of a step in seconds, or in units of the log's own times."""
    runs: int = 1
    """Number of runs."""
    gaps: int = 0
    """Number of pauses in the log."""
    jumps: int = 0
    """Number of places where the robot was moved by somebody else."""

    @property
    def steps(self) -> int:
        """Steps from the first one to the last."""
        return int(self.seen.times.max()) + 1


def parse_duration(text: str) -> float:
    """Return the seconds in a text such as 0.1s, 100ms or 2."""
    found = re.fullmatch(r"\s*([0-9.eE+-]+)\s*([a-z]*)\s*", text)
    try:
        seconds = float(found.group(1)) * _UNITS[found.group(2)] if found else float("nan")
    except (ValueError, KeyError):
        seconds = float("nan")
    if not (np.isfinite(seconds) and seconds > 0):
        raise InputError(f"a step is a time such as 0.1s or 100ms, not {text!r}")
    return seconds


def read_log(
    path: str | Path, *, columns: Sequence[str] | None = None, step: float | None = None
) -> RobotLog:
    """Read a CSV log. `columns` are its names for t, s, a and next, in this order; next may be missing."""
    table, has_next = _read_table(path, columns)
    if not len(table):
        raise InputError(f"{path}: no observations")
    times = table[:, 0]
    whole = np.isfinite(table[:, 1:]) & (table[:, 1:] == np.round(table[:, 1:])) & (table[:, 1:] >= 0)
    bad = ~np.isfinite(times) | ~whole.all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f"{path}: row {row + 1}: {table[row].tolist()} is not a time and whole numbers")
    step = _usual_step(times) if step is None else step
    starts = np.flatnonzero(np.concatenate([[True], np.diff(times) < 0]))
    pieces, gaps = [], 0
    for begin, end in zip(starts, [*starts[1:], len(times)], strict=True):
        part, found = (_with_next if has_next else _by_steps)(table[begin:end], step)
        pieces.append(part)
        gaps += found
    rows = np.concatenate(pieces)
    if not len(rows):
        raise InputError(f"{path}: no two rows follow each other within a step of {step:g}")
    return RobotLog(Transitions.of_rows(rows[np.argsort(rows[:, 0], kind="stable")]), step, len(starts), gaps)


def _read_table(path: str | Path, columns: Sequence[str] | None) -> tuple[Array, bool]:
    """(n, 3 or 4) numbers, and whether the last column is the next state."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            lines = [line for line in csv.reader(file) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if not lines:
        raise InputError(f"{path}: the file is empty")
    header = [cell.strip() for cell in lines[0]]
    wanted = list(columns) if columns else [name for name in COLUMNS if name in header or name != "next"]
    if len(wanted) not in (3, 4):
        raise InputError(f"--columns takes the names for t, s, a and next, not {','.join(wanted)!r}")
    for name in wanted:
        if name not in header:
            raise InputError(f"{path}: no column {name!r} (there are {', '.join(header[:8])})")
    places = [header.index(name) for name in wanted]
    table = np.empty((len(lines) - 1, len(wanted)))
    for row, cells in enumerate(lines[1:]):
        try:
            table[row] = [float(cells[place]) for place in places]
        except (ValueError, IndexError):
            raise InputError(f"{path}: row {row + 1} is not {len(wanted)} numbers: {cells[:6]}") from None
    return table, len(wanted) == 4


def _usual_step(times: Array) -> float:
    """Return the usual distance of different times, 1 where times are whole numbers."""
    if (times == np.round(times)).all():
        return 1.0
    between = np.diff(np.unique(times))
    return float(np.median(between)) if len(between) else 1.0


def _with_next(run: Array, step: float) -> tuple[Array, int]:
    """(n, 4) rows of a run, their times as steps since its first one; and the number of gaps."""
    origin = 0.0 if (run[:, 0] == np.round(run[:, 0])).all() and step == 1.0 else run[0, 0]
    steps = np.round((run[:, 0] - origin) / step)
    return np.column_stack([steps, run[:, 1:]]), int((np.diff(steps) > GAP).sum())


def _by_steps(run: Array, step: float) -> tuple[Array, int]:
    """(n, 4) rows of a run of states and actions: the state at each step, and at the one after it."""
    times = run[:, 0] - run[0, 0]
    ticks = np.arange(int(times[-1] / step + 0.1) + 1)
    later = np.minimum(np.searchsorted(times, ticks * step), len(times) - 1)
    earlier = np.maximum(later - 1, 0)
    nearer = ticks * step - times[earlier] <= times[later] - ticks * step
    at = np.where(nearer, earlier, later)
    known = np.abs(times[at] - ticks * step) <= NEAR * step
    linked = known[:-1] & known[1:]
    rows = np.column_stack([ticks[:-1], run[at[:-1], 1:3], run[at[1:], 1]])
    return rows[linked], int((np.diff(times) > GAP * step).sum())
