"""Measures: frozen dataclasses whose fields are the columns of results.

A measure derives from `CellMeasure` or `JointMeasure`, with the name that studies give it. The store's table
`results`, CSV files and tables take types, headings and formats from its fields.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin, get_type_hints

SQL_TYPES = {float: "double", int: "integer", str: "text"}


@dataclass(frozen=True)
class ColumnFormat:
    """Heading and format of a column: `regret: Annotated[float | None, ColumnFormat(form=".2f")] = None`."""

    heading: str = ""
    """The name with spaces unless it is given."""
    form: str = ".4g"
    """Format of a number in tables."""
    in_csv: bool = True


@dataclass(frozen=True)
class Column:
    """A column of results."""

    name: str
    type: str
    """Type in the store; "json" for data that is not a number or text."""
    shown: ColumnFormat

    @property
    def heading(self) -> str:
        """The heading in tables."""
        return self.shown.heading or self.name.replace("_", " ")


class Measure:
    """Columns of results: a frozen dataclass whose fields may be None."""

    named: ClassVar[dict[str, type[Measure]]] = {}
    """Measures by the name that studies give them."""
    kinds: ClassVar[list[type[Measure]]] = []
    """All measures, with and without a name."""
    name: ClassVar[str] = ""
    on_seeds: ClassVar[bool] = False
    """Whether it is taken on the seeds of the study."""
    of_learners: ClassVar[bool] = False
    """Whether it applies to robots that learn their kernel."""

    def __init_subclass__(cls, *, name: str | None = None) -> None:
        Measure.kinds.append(cls)
        if name is not None:
            cls.name = name
            Measure.named[name] = cls

    @classmethod
    def together(cls, cell: Any) -> tuple[Hashable, int] | None:
        """Return which cells are computed together: those with an equal key, up to a number of them.

        None stands for cells that are computed one by one.
        """
        return None

    @classmethod
    def columns(cls) -> list[Column]:
        """Return the columns of the measure."""
        return _columns(cls)

    def row(self) -> dict[str, Any]:
        """Return the values by column, data as JSON; values that are missing are left out."""
        values = {each: getattr(self, each.name) for each in self.columns()}
        return {
            each.name: json.dumps(value) if each.type == "json" else value
            for each, value in values.items()
            if value is not None
        }


class CellMeasure(Measure, ABC):
    """A measure that is computed cell by cell."""

    @classmethod
    @abstractmethod
    def of(cls, trial: Any) -> Self:
        """Return the measurements of one cell (`replan.study.measures.Trial`)."""


class JointMeasure(Measure, ABC):
    """A measure that is computed for several cells together, those that `together` names."""

    @classmethod
    @abstractmethod
    def of_all(cls, cells: Sequence[Any]) -> list[tuple[Measure, ...]]:
        """Return all measurements of cells that are computed together."""


def result_columns() -> dict[str, Column]:
    """Return the columns of all measures by name."""
    return {each.name: each for kind in Measure.kinds if is_dataclass(kind) for each in _columns(kind)}


def canonical(data: Any) -> str:
    """Return JSON that is the same for the same data."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


@cache
def _columns(kind: Any) -> list[Column]:
    hints = get_type_hints(kind, include_extras=True)
    return [_column(each.name, hints[each.name]) for each in fields(kind)]


def _column(name: str, hint: Any) -> Column:
    """Return the column of a field with that type, as in `Annotated[float | None, ColumnFormat()]`."""
    shown = ColumnFormat()
    if get_origin(hint) is Annotated:
        hint, shown = get_args(hint)
    kind = next(option for option in get_args(hint) or (hint,) if option is not type(None))
    return Column(name, SQL_TYPES.get(kind, "json"), shown)
