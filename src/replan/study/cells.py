"""A cell: one rule on one setting, computed as a whole. Its identity is a hash of all that determines it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from replan.errors import InputError
from replan.study.definition import RuleAxis, SettingAxis, Study
from replan.study.protocol import VALIDATION_SEEDS
from replan.worlds.settings import load_setting, parse_setting


@dataclass(frozen=True)
class Cell:
    """All that determines a result, as plain data that can travel to a worker."""

    version: str  # of replan and its code: another one may give other numbers
    setting: str  # JSON
    files: tuple[tuple[str, str], ...]  # (path, hash of its content) of every file that the setting names
    execution: str
    estimator: str
    rule: str
    given: str  # JSON, the hyper-parameters that are not chosen
    search: str | None  # the candidates that validation chooses the others from; None: they have defaults
    measure: tuple[str, ...]
    seeds: tuple[int, int]  # first and count
    intervals: bool
    decisions: bool

    @cached_property
    def identity(self) -> str:
        """The hash, in hexadecimal."""
        parts: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self)}
        for path, digest in self.files:
            parts["setting"] = parts["setting"].replace(json.dumps(path), json.dumps(digest))
        parts["files"] = sorted(digest for _, digest in self.files)
        if self.search is not None:
            parts["validation"] = [int(VALIDATION_SEEDS[0]), int(VALIDATION_SEEDS[-1])]
        return hashlib.sha256(canonical(parts).encode()).hexdigest()

    @cached_property
    def key(self) -> int:
        """The first 60 bits of the hash: what rows of results are filed under."""
        return int(self.identity[:15], 16)


@dataclass(frozen=True)
class Place:
    """Where a cell stands in the study: the names that tables show. Two places may hold the same cell."""

    position: int
    setting: str
    rule: str  # as the study names it, one per entry of its rules
    label: str  # the same with the point of the grid
    cell: Cell


def places(study: Study, *, version: str) -> list[Place]:
    """Every cell of a study, in the order of the file; those that share a world stand together."""
    rules = [rule for axis in study.rules for rule in _rule_points(axis)]
    sampled = {"sampled", "placement"} & set(study.measure)
    found: list[Place] = []
    for axis in study.settings:
        for name, data in _setting_points(axis):
            setting, files = canonical(data), _files(data)
            for execution, estimator, (entry, label, rule, point, tuned) in product(
                study.executions, study.estimators, rules
            ):
                cell = Cell(
                    version=version,
                    setting=setting,
                    files=files,
                    execution=execution,
                    estimator=estimator,
                    rule=rule,
                    given=point,
                    search=study.search if tuned else None,
                    measure=tuple(sorted(set(study.measure))),
                    seeds=(study.seeds.first, study.seeds.count) if sampled else (0, 0),
                    intervals=study.intervals and "sampled" in study.measure,
                    decisions=study.decisions,
                )
                found.append(Place(len(found), name, entry, label, cell))
    _require_distinct(found)
    return found


def canonical(data: Any) -> str:
    """JSON that is the same for the same data."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def _rule_points(axis: RuleAxis) -> Iterator[tuple[str, str, str, str, bool]]:
    """Name of the entry, label of the point, rule, given parameters as JSON, whether the rest is tuned."""
    entry = axis.name or " ".join([axis.rule, *(f"{key}={_shown(value)}" for key, value in axis.set.items())])
    for point in axis.points():
        varied = " ".join(f"{key}={_shown(point[key])}" for key in axis.grid)
        yield entry, f"{entry} {varied}".strip(), axis.rule, canonical(point), axis.tuned


def _setting_points(axis: SettingAxis) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and data of every setting that the axis makes."""
    data = load_setting(axis.base).model_dump(mode="json", exclude_none=True)
    if "file" in data:
        data["file"] = str(Path(data["file"]).resolve())
    for values in product(*axis.vary.values()):
        changed = json.loads(json.dumps(data))
        for key, value in zip(axis.vary, values, strict=True):
            _put(changed, key, value, where=axis.base)
        varied = " ".join(f"{key}={_shown(value)}" for key, value in zip(axis.vary, values, strict=True))
        name = f"{axis.name or Path(axis.base).stem} {varied}".strip()
        checked = parse_setting(changed, where=f"{axis.base} {varied}".strip())
        yield name, checked.model_dump(mode="json", exclude_none=True)


def _put(data: dict[str, Any], key: str, value: Any, *, where: str) -> None:
    *path, last = key.split(".")
    inner = data
    for part in path:
        inner = inner.get(part)
        if not isinstance(inner, dict):
            raise InputError(f"{where}: vary names {key!r}, but the setting has no table {part!r}")
    inner[last] = value


def _files(data: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((path, _digest(path)) for key, path in data.items() if key == "file")


@lru_cache(maxsize=64)
def _digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _require_distinct(found: list[Place]) -> None:
    """Two different cells under one name would be one line of the tables."""
    seen: dict[tuple[str, ...], Place] = {}
    for place in found:
        name = (place.setting, place.label, place.cell.execution, place.cell.estimator)
        if name in seen:
            raise InputError(f"{place.label} on {place.setting} stands twice in the study: give one a `name`")
        seen[name] = place
