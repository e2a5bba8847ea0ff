"""Observed transitions: from arrays, or from a CSV file with the columns t, s, a, next."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.model.kernel import Indices

COLUMNS = ("t", "s", "a", "next")
MOST_STEPS = 10_000_000  # times are steps, not seconds: drift bounds are summed over each of them


@dataclass(frozen=True)
class Transitions:
    """n transitions from s to next under a, in order of time; equal times are several robots or runs."""

    times: Indices
    """(n,) t."""
    states: Indices
    """(n,) s_t."""
    actions: Indices
    """(n,) a_t."""
    next_states: Indices
    """(n,) s_{t+1}."""

    def __len__(self) -> int:
        return len(self.times)

    @classmethod
    def of_rows(cls, rows: ArrayLike) -> Self:
        """Return the transitions of an (n, 4) array of t, s, a, next."""
        table = np.asarray(rows, dtype=float)
        table = table.reshape(0, 4) if table.size == 0 else table
        if table.ndim != 2 or table.shape[1] != 4:
            raise InputError(
                f"observations have the four columns {', '.join(COLUMNS)}, not the shape {table.shape}"
            )
        broken = ~(np.isfinite(table) & (table == np.round(table)) & (np.abs(table) < 2.0**63))
        if broken.any():
            row, column = np.argwhere(broken)[0]
            raise InputError(f"row {row + 1}: {COLUMNS[column]}={table[row, column]} is not a whole number")
        return cls(*np.ascontiguousarray(table.astype(np.int64).T))

    def check(self, *, states: int, actions: int) -> None:
        """Raise an `InputError` that names the first row out of range or order."""
        limits = {"t": (self.times, MOST_STEPS), "s": (self.states, states), "a": (self.actions, actions)}
        for name, (values, limit) in (limits | {"next": (self.next_states, states)}).items():
            outside = (values < 0) | (values >= limit)
            if outside.any():
                row = int(outside.argmax())
                raise InputError(f"row {row + 1}: {name}={values[row]} is out of range (0 to {limit - 1})")
        unsorted = np.diff(self.times) < 0
        if unsorted.any():
            row = int(unsorted.argmax()) + 1
            raise InputError(
                f"row {row + 1}: t={self.times[row]} comes after t={self.times[row - 1]}; sort by t"
            )


def read_transitions(path: str | Path) -> Transitions:
    """Return the transitions of a CSV file with the header t,s,a,next; rows are counted from 1 below it."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            lines = [line for line in csv.reader(file) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if not lines or tuple(cell.strip() for cell in lines[0]) != COLUMNS:
        raise InputError(f"{path}: the first line must be {','.join(COLUMNS)}")
    rows = np.empty((len(lines) - 1, 4))
    for row, cells in enumerate(lines[1:]):
        if len(cells) != 4:
            raise InputError(f"{path}: row {row + 1} has {len(cells)} values, not 4")
        for column, cell in enumerate(cells):
            try:
                rows[row, column] = int(cell)
            except (ValueError, OverflowError):
                raise InputError(
                    f"{path}: row {row + 1}: {COLUMNS[column]}={cell[:40]!r} is not a whole number"
                ) from None
    return Transitions.of_rows(rows)
