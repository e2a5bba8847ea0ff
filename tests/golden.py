"""Golden figures: what an earlier version of the code gave, kept in JSON files, one line for each case.

Numbers agree to 1e-9; times, actions and names exactly. Sentences (strings with spaces, such as reasons) are
kept apart, so that they can be made again alone. What was null is not compared, and new keys are allowed.

    pytest tests -n 0 -k golden -m 'slow or not slow' --golden write           makes everything again
    pytest tests -n 0 -k golden -m 'slow or not slow' --golden write-texts     sentences alone
    pytest tests -k golden --golden figures                                    compares all but sentences
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

MODES = ("compare", "figures", "write", "write-texts")
TOLERANCE = 1e-9
MISSING = "(missing)"


class Golden:
    """Compares values with those in files, or writes them."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self._files: dict[Path, dict[str, Any]] = {}

    def __call__(self, path: Path, case: str, value: Any) -> None:
        """Compare a case with the file, or put it there."""
        kept = self._files.setdefault(path, _read(path))
        value = plain(value)
        figures, texts = _part(value, text=False), _part(value, text=True)
        if self.mode == "write":
            kept["figures"][case] = figures
        if self.mode.startswith("write"):
            kept["texts"][case] = texts
            return
        assert case in kept["figures"], f"{case}: no figures in {path.name}; --golden write makes them"
        found = [*differences(kept["figures"][case], figures, case)]
        if self.mode == "compare":
            found += differences(kept["texts"][case], texts, case)
        more = f"\nand {len(found) - 20} more" if len(found) > 20 else ""
        assert not found, "\n".join(found[:20]) + more

    def write(self) -> None:
        """Write the files, if that was asked for."""
        if self.mode.startswith("write"):
            for path, kept in self._files.items():
                _write(path, kept)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: rounded numbers, and a list of tables as a table of lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(row, Mapping) for row in value):
            names = dict.fromkeys(chain(*value))
            return {str(name): plain([row.get(name) for row in value]) for name in names}
        return [plain(each) for each in value]
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return str(value)
    value = float(f"{round(value, 11):.12g}")
    return int(value) if value.is_integer() else value


def differences(golden: Any, found: Any, place: str) -> Iterator[str]:
    """Yield in words where something differs from what was kept."""
    if golden is None:
        return
    if isinstance(golden, dict) and isinstance(found, dict):
        for key, each in golden.items():
            yield from differences(each, found.get(key, MISSING), f"{place} {key}")
    elif isinstance(golden, list) and isinstance(found, list) and len(golden) == len(found):
        for place_in_list, (each, other) in enumerate(zip(golden, found, strict=True)):
            yield from differences(each, other, f"{place} {place_in_list}")
    elif isinstance(golden, (int, float)) and isinstance(found, (int, float)):
        if abs(found - golden) > TOLERANCE * max(1.0, abs(golden)):
            yield f"{place}: {found}, was {golden}"
    elif golden != found:
        yield f"{place}: {found}, was {golden}"


def _part(value: Any, *, text: bool) -> Any:
    """Return the sentences of a value, or all but them, in its shape; None where nothing is left."""
    if isinstance(value, dict):
        kept = {key: _part(each, text=text) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each is not None} or None
    if isinstance(value, list):
        rows = [_part(each, text=text) for each in value]
        return None if all(row is None for row in rows) and (rows or text) else rows
    return value if (isinstance(value, str) and " " in value) == text else None


def _read(path: Path) -> dict[str, Any]:
    """Return figures and texts by case, each sentence in its place."""
    if not path.exists():
        return {"figures": {}, "texts": {}}
    kept = json.loads(path.read_text())
    sentences = kept.pop("sentences")
    kept["texts"] = {case: _mapped(each, sentences.__getitem__) for case, each in kept["texts"].items()}
    return kept


def _write(path: Path, kept: dict[str, Any]) -> None:
    """Write a file, in which each sentence stands once."""
    numbers: dict[str, int] = {}
    texts = {
        case: _mapped(kept["texts"][case], lambda text: numbers.setdefault(text, len(numbers)))
        for case in sorted(kept["texts"])
    }
    parts = {"figures": kept["figures"], "texts": texts, "sentences": list(numbers)}
    path.write_text("{" + ",\n".join(f'"{name}": {_lines(part)}' for name, part in parts.items()) + "}\n")


def _lines(part: dict[str, Any] | list[str]) -> str:
    """Return one part of a file as JSON, one line for each case or sentence."""
    if isinstance(part, list):
        return "[\n" + ",\n".join(map(_dumped, part)) + "]"
    return "{\n" + ",\n".join(f"{_dumped(case)}:{_dumped(part[case])}" for case in sorted(part)) + "}"


def _dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def _mapped(value: Any, leaf: Any) -> Any:
    """Return a value with each of its leaves replaced, in the order of sorted keys."""
    if isinstance(value, dict):
        return {key: _mapped(value[key], leaf) for key in sorted(value)}
    if isinstance(value, list):
        return [_mapped(each, leaf) for each in value]
    return None if value is None else leaf(value)
