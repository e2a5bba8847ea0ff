"""Output of commands: one JSON object, or lines for people."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import typer


def emit(answer: dict[str, Any], *, as_json: bool, lines: list[str]) -> None:
    """Print the answer as one JSON object and nothing else, or as lines."""
    if as_json:
        typer.echo(json.dumps(plain(answer), allow_nan=False))
    else:
        typer.echo("\n".join(lines))


def plain(value: Any) -> Any:
    """Return NumPy scalars and arrays as plain data, and numbers that JSON does not have as null."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
