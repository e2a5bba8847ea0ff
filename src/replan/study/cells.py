"""A cell: one rule on one setting, computed as a whole. Its identity is a hash of all that determines it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from replan.errors import InputError
from replan.study.axes import RuleAxis, SettingAxis
from replan.study.definition import Block, Study
from replan.study.estimators import TRUE_KERNEL
from replan.study.joint import JointMeasure, joint_measure
from replan.study.protocol import VALIDATION_SEEDS
from replan.study.rule_source import RuleSource, find_rule, imported_files
from replan.worlds.forecasts import ForecastParameters
from replan.worlds.settings import SPENDING, parse_setting, replace_spending

BEST_POSSIBLE = "best possible"  # in place of a rule: the best that any schedule can do
SAMPLED = frozenset({"sampled", "placement"})  # measurements on seeds

RulePoint = tuple[str, str, dict[str, Any]]  # name of an entry, label of a point, fields of its cells


@dataclass(frozen=True)
class Cell:
    """All that determines a result, as plain data that can travel to a worker."""

    version: str  # of replan and its code: another one may give other numbers
    setting: str  # JSON
    files: tuple[tuple[str, str], ...]  # (path, hash of its content) of every file that the setting names
    execution: str
    rule: str
    measure: tuple[str, ...]
    estimator: str = TRUE_KERNEL
    forecast: str = "frozen"  # in words; the setting holds it
    stated_bounds: str = "right"  # the drift bounds that rule and estimator are given
    given: str = "{}"  # JSON, the hyper-parameters that are not chosen
    search: str | None = None  # how the others are chosen; None: they have their defaults
    seeds: tuple[int, int] = (0, 0)  # first and count
    intervals: bool = False
    decisions: bool = False
    digest: str | None = None  # of the source of a rule of the user's own
    source: str | None = None  # that source where it is a file, which a worker may not have
    joint: JointMeasure | None = field(default=None, compare=False)  # computes it together with others

    @cached_property
    def identity(self) -> str:
        """The hash, in hexadecimal."""
        parts: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self) if part.compare}
        for path, digest in self.files:
            parts["setting"] = parts["setting"].replace(json.dumps(path), json.dumps(digest))
        parts["files"] = sorted(digest for _, digest in self.files)
        if self.digest is not None:
            parts |= {"rule": self.rule.rpartition(":")[2], "source": None}
        if self.search is not None:
            parts["validation"] = [int(VALIDATION_SEEDS[0]), int(VALIDATION_SEEDS[-1])]
        return hashlib.sha256(canonical(parts).encode()).hexdigest()

    @cached_property
    def key(self) -> int:
        """The first 60 bits of the hash: what rows of results are filed under."""
        return int(self.identity[:15], 16)


@dataclass(frozen=True)
class Entry:
    """A cell in a study, with the names that tables show. Two entries may hold the same cell."""

    position: int
    setting: str
    rule: str  # as the study names it, one per entry of its rules
    label: str  # the same with the point of the grid
    cell: Cell


def entries(study: Study, *, version: str) -> list[Entry]:
    """Return every cell of a study, in the order of the file."""
    found: list[Entry] = []
    for block in study.blocks:
        rules = [rule for axis in block.rules for rule in _rule_points(axis, block.search)]
        for name, data in _settings(block):
            forecast = str(ForecastParameters(**data["forecast"])) if "forecast" in data else "frozen"
            for_all = partial(
                Cell,
                version=version,
                setting=canonical(data),
                files=_files(data),
                forecast=forecast,
                joint=joint_measure("flight") if block.densities else None,
            )
            for rule, label, cell in _cells(block, rules, for_all):
                found.append(Entry(len(found), name, rule, label, cell))
    _require_distinct(found)
    return found


def _cells(
    block: Block, rules: Sequence[RulePoint], for_all: Callable[..., Cell]
) -> Iterator[tuple[str, str, Cell]]:
    """Name, label and cell of everything that a block measures on one setting."""
    measure = set(block.measure)
    each_rule = partial(
        for_all,
        measure=tuple(sorted(measure - {"optimum"})),
        seeds=(block.seeds.first, block.seeds.count) if measure & SAMPLED else (0, 0),
        intervals=block.intervals and "sampled" in measure,
        decisions=block.decisions and "flight" not in measure,
    )
    for execution in block.executions:
        if "optimum" in measure:
            yield (
                BEST_POSSIBLE,
                BEST_POSSIBLE,
                for_all(execution=execution, rule=BEST_POSSIBLE, measure=("optimum",)),
            )
        for estimator, bounds, (name, label, rule) in product(
            block.estimators, block.stated_bounds, rules if measure != {"optimum"} else ()
        ):
            cell = each_rule(execution=execution, estimator=estimator, stated_bounds=bounds, **rule)
            yield name, label, cell


def _settings(block: Block) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and data of every setting of a block; a density of obstacles stands for its layouts."""
    for forecast in [each.model_dump(exclude_none=True) for each in block.forecasts] or [None]:
        expected = {} if forecast is None else {"forecast": forecast}
        for axis in block.settings:
            for name, data in _setting_points(axis):
                yield name, data | expected
        for density in block.densities:
            flown = {"density": density, "layouts": block.layouts, "trial": block.trial, "cuts": block.cuts}
            joint_measure("flight").check(flown)
            yield f"{density} obstacles" + (", sub-cells" if block.cuts > 1 else ""), flown | expected


def canonical(data: Any) -> str:
    """JSON that is the same for the same data."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def _rule_points(axis: RuleAxis, search: str) -> Iterator[RulePoint]:
    source = find_rule(axis.rule)
    file = Path(axis.rule.rpartition(":")[0])
    shown = f"{file.name}:{source.kind.__name__}" if source.in_file else axis.rule
    entry = axis.name or " ".join([shown, *(f"{key}={_shown(value)}" for key, value in axis.set.items())])
    rule = {
        "rule": axis.rule,
        "search": search if axis.tuned and source.text is None else None,
        "digest": source_digest(source),
        "source": source.text if source.in_file else None,
    }
    for point in axis.points():
        varied = " ".join(f"{key}={_shown(point[key])}" for key in axis.grid)
        yield entry, f"{entry} {varied}".strip(), {**rule, "given": canonical(point)}


def source_digest(source: RuleSource) -> str | None:
    """Return the hash of a rule of the user's own and of the files around it that it imports."""
    if source.text is None:
        return None
    beside = [path.read_bytes() for path in neighbour_files(source)]
    return hashlib.sha256(b"\0".join([source.text.encode(), *beside])).hexdigest()


def require_alone(study: Study) -> None:
    """Refuse rules that import files beside them, which do not travel to another machine by themselves."""
    for axis in (axis for block in study.blocks for axis in block.rules):
        source = find_rule(axis.rule)
        if source.in_file and (beside := neighbour_files(source)):
            raise InputError(
                f"{axis.rule} imports {beside[0].name} beside it: give --working-dir {source.root}"
            )


def neighbour_files(source: RuleSource) -> list[Path]:
    """Return the files of its own package or folder that a rule of the user's own imports."""
    if source.text is None or source.file is None or source.root is None:
        return []
    return imported_files(source.file, source.text, source.root)


def _setting_points(axis: SettingAxis) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and data of every setting that the axis makes."""
    data = axis.load().model_dump(mode="json", exclude_none=True)
    if "file" in data:
        data["file"] = str(Path(data["file"]).resolve())
    for values in product(*axis.vary.values()):
        given = dict(zip(axis.vary, values, strict=True))
        changed = replace_spending(
            json.loads(json.dumps(data)), {key: given[key] for key in given if key in SPENDING}
        )
        for key, value in zip(axis.vary, values, strict=True):
            _put(changed, key, value, where=axis.where)
        varied = " ".join(f"{key}={_shown(value)}" for key, value in zip(axis.vary, values, strict=True))
        name = f"{axis.name or Path(axis.where).stem} {varied}".strip()
        checked = parse_setting(changed, where=f"{axis.where} {varied}".strip())
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
    paths = (data.get("file"), data.get("forecast", {}).get("file"))
    return tuple((path, _digest(path)) for path in paths if path is not None)


@lru_cache(maxsize=64)
def _digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _require_distinct(found: list[Entry]) -> None:
    """Refuse two different cells under one name, which would be one line of the tables."""
    seen: set[tuple[str, ...]] = set()
    for entry in found:
        cell = entry.cell
        ways = (cell.execution, cell.forecast, cell.estimator, cell.stated_bounds, *cell.measure)
        name = (entry.setting, entry.label, *ways)
        if name in seen:
            raise InputError(f"{entry.label} on {entry.setting} stands twice in the study: give one a `name`")
        seen.add(name)
