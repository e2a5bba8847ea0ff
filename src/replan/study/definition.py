"""A study as a file: STUDY.toml, checked key by key.

    settings = ["two-burst", { base = "late-burst", vary = { budget = { from = 2, to = 6 } } }]
    rules = ["periodic", { rule = "regret-guided", set = { score = "gap" }, grid = { alpha = [0.5, 0.9] } }]
    executions = ["map", "belief"]
    measure = ["exact", "sampled"]
    seeds = { first = 0, count = 1000 }

A rule that is only named has its hyper-parameters chosen on the validation seeds. Every point of a grid is a
cell of its own; what neither `set` nor `grid` gives is the rule's default there, or chosen if `tune = true`.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from replan.errors import InputError
from replan.schedule.registry import make_rule
from replan.skip.propagation import Execution
from replan.study.candidates import Search
from replan.study.estimators import TRUE_KERNEL, check_estimator
from replan.worlds.parameters import one_line

Measure = Literal["exact", "dynamic", "sampled", "placement"]
Number = Annotated[float, Field(allow_inf_nan=False)]

POINTS_AT_MOST = 100_000  # of one axis
CELLS_AT_MOST = 1_000_000
SEEDS_AT_MOST = 1_000_000  # of one cell, which samples them side by side
LAST_SEED = 2**62


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Range(_Strict):
    """Evenly spaced numbers, both ends included."""

    first: Annotated[Number, Field(alias="from")]
    last: Annotated[Number, Field(alias="to")]
    step: Annotated[Number, Field(gt=0)] | None = None
    count: Annotated[int, Field(ge=2, le=POINTS_AT_MOST)] | None = None

    @model_validator(mode="after")
    def _few_enough(self) -> Range:
        if self.count is None and self.last - self.first >= POINTS_AT_MOST * (self.step or 1.0):
            raise ValueError(f"a range has at most {POINTS_AT_MOST} points: make step larger")
        return self

    def values(self) -> list[float | int]:
        """The numbers; whole ones where ends and step are whole."""
        if self.count is not None:
            found = np.linspace(self.first, self.last, self.count)
        else:
            step = self.step or 1.0
            found = self.first + step * np.arange(np.floor((self.last - self.first) / step + 1e-9) + 1)
        whole = self.count is None and all(float(x).is_integer() for x in (self.first, self.step or 1.0))
        return [int(x) if whole else float(f"{x:.12g}") for x in found]


class SettingAxis(_Strict):
    """A setting, or as many as `vary` makes of it."""

    base: str  # a TOML file beside the study's, or the name of a built-in setting
    name: str | None = None
    vary: dict[str, list[Any]] = {}  # key of the setting, as in drift.slip -> its values

    @field_validator("vary", mode="before")
    @classmethod
    def _ranges(cls, value: Any) -> Any:
        return _spelled_out(value)


class RuleAxis(_Strict):
    """A rule, or as many as `grid` makes of it."""

    rule: str
    name: str | None = None
    set: dict[str, Any] = {}
    grid: dict[str, list[Any]] = {}
    tune: bool | None = None  # choose what is not given by validation; None: where there is no grid

    @field_validator("grid", mode="before")
    @classmethod
    def _ranges(cls, value: Any) -> Any:
        return _spelled_out(value)

    @property
    def tuned(self) -> bool:
        """Whether validation chooses what is not given."""
        return not self.grid if self.tune is None else self.tune

    def points(self) -> list[dict[str, Any]]:
        """The given hyper-parameters of every cell that this rule makes."""
        return [
            self.set | dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())
        ]

    @model_validator(mode="after")
    def _known(self) -> RuleAxis:
        for key in self.grid:
            if key in self.set:
                raise ValueError(f"{key} is given by both set and grid")
        for point in self.points():
            given_rule(self.rule, point)
        return self


class Seeds(_Strict):
    """The seeds of sampled measurements, one after another."""

    first: Annotated[int, Field(ge=0, le=LAST_SEED)] = 0
    count: Annotated[int, Field(ge=2, le=SEEDS_AT_MOST)] = 1000


class Study(_Strict):
    """Everything that a study is made of."""

    name: Annotated[str, Field(pattern=r"^[\w][\w.-]*$")]
    settings: Annotated[list[SettingAxis], Field(min_length=1)]
    rules: Annotated[list[RuleAxis], Field(min_length=1)]
    executions: Annotated[list[Execution], Field(min_length=1)] = ["map"]
    estimators: Annotated[list[str], Field(min_length=1)] = [TRUE_KERNEL]
    measure: Annotated[list[Measure], Field(min_length=1)] = ["exact"]
    seeds: Seeds = Seeds()
    search: Search = "paper"  # the candidates that validation chooses from
    intervals: bool = True  # bootstrap intervals of sampled regret
    decisions: bool = True  # keep every decision with its terms

    @field_validator("settings", "rules", mode="before")
    @classmethod
    def _named_only(cls, value: Any, info: Any) -> Any:
        key = "base" if info.field_name == "settings" else "rule"
        if not isinstance(value, list):
            return value
        return [{key: part} if isinstance(part, str) else part for part in value]

    @model_validator(mode="after")
    def _fits(self) -> Study:
        for name in self.estimators:
            check_estimator(name)
        learned = [name for name in self.estimators if name != TRUE_KERNEL]
        sampled_only = [what for what in self.measure if what != "sampled"]
        if learned and sampled_only:
            raise ValueError(
                f"measure: {sampled_only[0]} needs the estimator {TRUE_KERNEL}, not {learned[0]}"
            )
        if self._cells() > CELLS_AT_MOST:
            raise ValueError(f"a study has at most {CELLS_AT_MOST} cells, not {self._cells()}")
        return self

    def _cells(self) -> int:
        settings = sum(_combinations(axis.vary) for axis in self.settings)
        rules = sum(_combinations(axis.grid) for axis in self.rules)
        return settings * rules * len(self.executions) * len(self.estimators)


def builtin_studies() -> list[str]:
    """The names of the studies that come with replan."""
    folder = resources.files("replan.study") / "studies"
    return sorted(Path(file.name).stem for file in folder.iterdir() if file.name.endswith(".toml"))


def load_study(source: str | Path) -> tuple[Study, str]:
    """From the path of a TOML file or the name of a built-in study; the text is kept with the results."""
    text, where = _read(source)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: not valid TOML: {error}") from None
    return parse_study({"name": Path(source).stem, **data}, where=where), text


def parse_study(data: dict[str, Any], *, where: str = "study") -> Study:
    """From plain data; the first fault is named with its key. Settings lie beside `where`."""
    try:
        study = Study.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{where}: {one_line(error)}") from None
    settings = [axis.model_copy(update={"base": _beside(where, axis.base)}) for axis in study.settings]
    return study.model_copy(update={"settings": settings})


def given_rule(name: str, point: dict[str, Any]):
    """The rule with hyper-parameters as TOML gives them."""
    try:
        return make_rule(name, **{key: _hashable(value) for key, value in point.items()})
    except TypeError as error:
        raise InputError(f"{name} cannot take {point}: {error}") from None


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _spelled_out(value: Any) -> Any:
    """Ranges as the lists that they stand for."""
    if not isinstance(value, dict):
        return value
    spelled = {}
    for key, values in value.items():
        if isinstance(values, dict):
            try:
                values = Range.model_validate(values).values()
            except ValidationError as error:
                raise ValueError(f"{key}: {one_line(error)}") from None
        if values == []:
            raise ValueError(f"{key}: has no value")
        spelled[key] = values
    if _combinations(spelled) > POINTS_AT_MOST:
        raise ValueError(f"{', '.join(spelled)}: more than {POINTS_AT_MOST} combinations")
    return spelled


def _combinations(axis: dict[str, Any]) -> int:
    return prod(len(values) for values in axis.values() if isinstance(values, list))


def _beside(where: str, base: str) -> str:
    path = Path(where).parent / base
    return str(path) if base.endswith(".toml") and path.exists() else base


def _read(source: str | Path) -> tuple[str, str]:
    name = str(source)
    if name in builtin_studies():
        return (resources.files("replan.study") / "studies" / f"{name}.toml").read_text(), name
    path = Path(source)
    if path.suffix != ".toml" and not path.exists():
        raise InputError(
            f"{name!r} is neither a TOML file nor a built-in study ({', '.join(builtin_studies())})"
        )
    try:
        return path.read_text(), name
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
