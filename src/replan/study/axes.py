"""The axes of a study: settings and rules, each with the values that it takes, checked key by key."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Annotated, Any

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from replan import Setting, find_rule, load_setting
from replan.worlds.parameters import one_line
from replan.worlds.settings import parse_setting

Number = Annotated[float, Field(allow_inf_nan=False)]

Name = Annotated[str, Field(min_length=1, max_length=200)]

POINTS_AT_MOST = 100_000  # of one axis


class StrictModel(BaseModel):
    """Unknown keys and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Range(StrictModel):
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


class SettingAxis(StrictModel):
    """A setting, or one for each combination in `vary`."""

    base: str | dict[str, Any]  # a TOML file beside the study's, a built-in setting, or one as a table
    name: Name | None = None  # needed where `base` is a table
    vary: dict[str, list[Any]] = {}  # key of the setting, as in drift.slip -> its values

    @field_validator("vary", mode="before")
    @classmethod
    def _ranges(cls, value: Any) -> Any:
        return _spelled_out(value)

    @model_validator(mode="after")
    def _named(self) -> SettingAxis:
        if isinstance(self.base, dict) and self.name is None:
            raise ValueError("a setting that is given as a table needs a name")
        return self

    @property
    def where(self) -> str:
        """The file or name that messages refer to."""
        return self.base if isinstance(self.base, str) else str(self.name)

    def load(self) -> Setting:
        """Return the setting before it is varied."""
        if isinstance(self.base, dict):
            return parse_setting(self.base, where=self.where)
        return load_setting(self.base)


class RuleAxis(StrictModel):
    """A rule, or one for each combination in `grid`."""

    rule: str
    name: Name | None = None
    set: dict[str, Any] = {}
    grid: dict[str, list[Any]] = {}
    tune: bool | None = None  # choose the other parameters by validation; None: unless there is a grid

    @field_validator("grid", mode="before")
    @classmethod
    def _ranges(cls, value: Any) -> Any:
        return _spelled_out(value)

    @field_validator("set", mode="before")
    @classmethod
    def _values(cls, value: Any) -> Any:
        return _require_plain(value)

    @property
    def tuned(self) -> bool:
        """Whether validation chooses the parameters that are not given."""
        return not self.grid if self.tune is None else self.tune

    def points(self) -> list[dict[str, Any]]:
        """Return the given hyper-parameters of every cell of this rule."""
        return [
            self.set | dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())
        ]

    @model_validator(mode="after")
    def _known(self) -> RuleAxis:
        for key in self.grid:
            if key in self.set:
                raise ValueError(f"{key} is given by both set and grid")
        source = find_rule(self.rule)
        if self.tune and source.text is not None:
            raise ValueError(
                f"{self.rule} has no candidates for tune, which rules that come with replan have: "
                "give its values in grid, every combination is a cell"
            )
        for point in self.points():
            source.make(**point)
        return self


def combinations(axis: dict[str, list[Any]]) -> int:
    """Return the number of points that an axis with these values makes."""
    return prod(len(values) for values in axis.values())


def _spelled_out(value: Any) -> Any:
    """Return the axis with ranges as the lists that they stand for."""
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
    if prod(len(values) for values in spelled.values() if isinstance(values, list)) > POINTS_AT_MOST:
        raise ValueError(f"{', '.join(spelled)}: more than {POINTS_AT_MOST} combinations")
    return _require_plain(spelled)


def _require_plain(value: Any) -> Any:
    """Return the value; a date or a time, which JSON does not have, is refused."""
    if isinstance(value, dict):
        return {key: _require_plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_require_plain(part) for part in value]
    if not isinstance(value, (bool, int, float, str)):
        raise ValueError(f"cannot hold a date or a time, not {value}")
    return value
