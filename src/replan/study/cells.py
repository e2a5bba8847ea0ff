"""Cells: one rule on one setting with one robot. Their identity is a hash of their contents."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from replan import find_rule
from replan.errors import InputError
from replan.results.key import BEST_POSSIBLE, RecordKey, Variant
from replan.results.measure import Measure, canonical
from replan.schedule.registry import RuleSource, imported_files
from replan.study.axes import RuleAxis, SettingAxis
from replan.study.definition import Block, Study
from replan.study.protocol import VALIDATION_SEEDS
from replan.study.versions import code_version
from replan.worlds.estimators import usual_estimator
from replan.worlds.forecasts import ForecastParameters
from replan.worlds.robot_words import describe_latency
from replan.worlds.settings import SPENDING, parse_setting, replace_spending

NO_LIMIT = "no limit"
"""Varied budget that allows an update at every step."""
RulePoint = tuple[str, str, dict[str, Any]]  # name of an entry, label of a point, fields of its cells


@dataclass(frozen=True, kw_only=True)
class Cell(Variant):
    """All that determines a result, as plain data that can travel to a worker."""

    version: str  # of replan and its code: another one may give other numbers
    setting: str  # JSON
    files: tuple[tuple[str, str], ...]  # (path, hash of its content) of every file that the setting names
    rule: str
    measure: tuple[type[Measure], ...]
    given: str = "{}"  # JSON, the hyper-parameters that are not chosen
    search: str | None = None  # how the others are chosen; None: they have their defaults
    seeds: tuple[int, int] = (0, 0)  # first and count
    intervals: bool = False
    decisions: bool = False
    digest: str | None = None  # of the source of a rule of the user's own
    source: str | None = None  # text of the rule's file, which a worker may not have

    @property
    def measured(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(each.name for each in self.measure)

    @property
    def together(self) -> Hashable | None:
        """Key of the cells that are computed together; None if the cell is computed by itself."""
        found = self.measure[0].together(self)
        return None if found is None else found[0]

    @cached_property
    def identity(self) -> str:
        """The hash, in hexadecimal."""
        parts: dict[str, Any] = {name: getattr(self, name) for name in self.names()}
        parts["measure"] = self.measured
        if self.latency == "instant":
            del parts["latency"]
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
    """A cell in a study under the names that tables show. Two entries may hold the same cell."""

    position: int
    key: RecordKey
    cell: Cell

    def row(self) -> dict[str, Any]:
        """Return the row of the store's table `cells`."""
        cell = self.cell
        return {
            **vars(self.key),
            "position": self.position,
            "cell": cell.key,
            "identity": cell.identity,
            "given": cell.given,
            "search": cell.search,
            "first_seed": cell.seeds[0],
            "seeds": cell.seeds[1],
            "registered_rule": cell.rule,
            "digest": cell.digest,
            "source": cell.source,
        }


def entries(study: Study, *, version: str | None = None) -> list[Entry]:
    """Return every cell of a study, in the order of the file; `version` replaces that of the code."""
    found: list[Entry] = []
    for block in study.blocks:
        current = version or version_of(Measure.named[name] for name in block.measure)
        rules = [rule for axis in block.rules for rule in _rule_points(axis, block.search)]
        for name, data in _settings(block):
            forecast = str(ForecastParameters(**data["forecast"])) if "forecast" in data else "frozen"
            latency = describe_latency(data.get("update_steps"), data.get("meanwhile"))
            robot = {"forecast": forecast, "latency": latency}
            for_all = partial(Cell, version=current, setting=canonical(data), files=_files(data), **robot)
            for rule, label, cell in _cells(block, rules, for_all):
                names = {"setting": name, "rule": rule, "label": label, "measure": ",".join(cell.measured)}
                variant = {each: getattr(cell, each) for each in Variant.names()}
                found.append(Entry(len(found), RecordKey(**names, **variant), cell))
    _require_distinct(found)
    return found


def version_of(measures: Iterable[type[Measure]]) -> str:
    """Return the version of the code that computes these measures."""
    return code_version(*(measure.__module__ for measure in measures))


def settings_rows(planned: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the rows of the store's table `settings`: every setting, once for each forecast and latency."""
    found = {_setting_key(entry.key): entry.cell.setting for entry in planned}
    return [
        {"setting": name, "forecast": forecast, "latency": latency, "data": data}
        for (name, forecast, latency), data in found.items()
    ]


def _setting_key(key: RecordKey) -> tuple[str, str, str]:
    return key.setting, key.forecast, key.latency


def _cells(
    block: Block, rules: Sequence[RulePoint], for_all: Callable[..., Cell]
) -> Iterator[tuple[str, str, Cell]]:
    """Yield name, label and cell of everything that a block measures on one setting."""
    measure = tuple(Measure.named[name] for name in sorted({*block.measure} - {"optimum"}))
    on_seeds = any(each.on_seeds for each in measure)
    each_rule = partial(
        for_all,
        measure=measure,
        seeds=(block.seeds.first, block.seeds.count) if on_seeds else (0, 0),
        intervals=block.intervals and "sampled" in block.measure,
        decisions=block.decisions and not block.densities,
    )
    for execution in block.executions:
        if "optimum" in block.measure:
            best = for_all(
                execution=execution,
                estimator=usual_estimator(execution),
                rule=BEST_POSSIBLE,
                measure=(Measure.named["optimum"],),
            )
            yield BEST_POSSIBLE, BEST_POSSIBLE, best
        for estimator, bounds, (name, label, rule) in product(
            block.estimators or [usual_estimator(execution)], block.stated_bounds, rules if measure else ()
        ):
            cell = each_rule(execution=execution, estimator=estimator, stated_bounds=bounds, **rule)
            yield name, label, cell


def _settings(block: Block) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and data of every setting of a block; a density of obstacles stands for its layouts."""
    forecasts = [{"forecast": each.model_dump(exclude_none=True)} for each in block.forecasts] or [{}]
    for forecast, latency in product(forecasts, block.latencies()):
        expected = forecast | latency
        for axis in block.settings:
            for name, data in _setting_points(axis):
                yield name, data | expected
        for density in block.densities:
            flown = {"density": density, "layouts": block.layouts, "trial": block.trial, "cuts": block.cuts}
            yield f"{density} obstacles" + (", sub-cells" if block.cuts > 1 else ""), flown | expected


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
    data = axis.load().beside(Path.cwd()).model_dump(mode="json", exclude_none=True)
    for values in product(*axis.vary.values()):
        given = dict(zip(axis.vary, values, strict=True))
        changed = replace_spending(
            json.loads(json.dumps(data)), {key: given[key] for key in given if key in SPENDING}
        )
        for key, value in given.items():
            _put(changed, key, value, where=axis.where)
        if given.get("budget") == NO_LIMIT:
            changed["budget"] = parse_setting(changed | {"budget": 1}, where=axis.where).build().horizon - 1
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
    paths = parse_setting(data).files() if "world" in data else []  # a scene of flights is no world
    return tuple((str(path), _digest(path)) for path in paths)


@lru_cache(maxsize=64)
def _digest(path: Path) -> str:
    """Return the hash of a file, or of all files in a folder."""
    parts = sorted(path.rglob("*")) if path.is_dir() else [path]
    try:
        return hashlib.sha256(b"".join(each.read_bytes() for each in parts if each.is_file())).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _require_distinct(found: list[Entry]) -> None:
    """Refuse different cells under one key, different settings or different robots under one name."""
    keys: set[RecordKey] = set()
    settings: dict[tuple[str, str, str], str] = {}
    robots: dict[tuple[str, str], tuple[str, Variant]] = {}
    for entry in found:
        key, cell = entry.key, entry.cell
        robot = (key.rule, Variant.of(vars(key)))
        if key in keys or robots.setdefault((key.setting, key.name), robot) != robot:
            raise InputError(f"{key.label} on {key.setting} stands twice in the study: give one a `name`")
        keys.add(key)
        if settings.setdefault(_setting_key(key), cell.setting) != cell.setting:
            raise InputError(f"two different settings are called {key.setting}: give one a `name`")
