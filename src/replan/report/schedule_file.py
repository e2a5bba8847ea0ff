"""The updates of one mission as a file: CSV for spreadsheets, YAML or JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replan.errors import InputError
from replan.results.table import write_csv, write_whole

COLUMNS = ("update", "t", "reason", "score", "threshold")
FORMS = (".csv", ".yaml", ".yml", ".json")


def check_schedule_file(path: Path) -> None:
    """Raise an `InputError` for a file name without one of the known endings."""
    if path.suffix not in FORMS:
        raise InputError(f"--out must end in one of {', '.join(FORMS)}, not {path.name}")


def write_schedule(path: Path, head: Mapping[str, Any], updates: Sequence[Mapping[str, Any]]) -> Path:
    """Write one row for each update; YAML and JSON begin with `head`, which says what was run."""
    rows = [
        {"update": number, **{name: each[name] for name in COLUMNS[1:]}}
        for number, each in enumerate(updates, start=1)
    ]
    if path.suffix == ".csv":
        return write_csv(path, rows)
    if path.suffix == ".json":
        return write_whole(path, json.dumps({**head, "updates": rows}, indent=2) + "\n")
    lines = [f"{name}: {json.dumps(value)}" for name, value in head.items()]  # JSON values are YAML too
    lines.append("updates:" if rows else "updates: []")
    for row in rows:
        first, *others = (f"{name}: {json.dumps(value)}" for name, value in row.items())
        lines += [f"  - {first}", *(f"    {each}" for each in others)]
    return write_whole(path, "\n".join(lines) + "\n")
