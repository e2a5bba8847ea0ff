"""The key of a result: everything that tells two results of a study apart.

Cells, the store, CSV files, tables and the page follow the fields of `Variant` and `RecordKey`. CONTRIBUTING
says what else a new way in which robots of a study differ touches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

Record = Mapping[str, Any]
"""Columns of a result by name; see `replan.results.run`."""

BEST_POSSIBLE = "best possible"
"""In place of a rule: the best that any schedule can do."""


def _axis(usual: str, *, always: bool = False) -> Any:
    """Return a field with a default. Table titles name other values, with `always` the default too."""
    return field(default=usual, metadata={"always": always})


@dataclass(frozen=True, kw_only=True)
class Variant:
    """The properties in which the robots of one study may differ."""

    execution: str = _axis("map", always=True)
    """Execution between updates: "map", "belief" or "localised"."""
    estimator: str = _axis("true-kernel", always=True)
    """Name of the estimator of the kernel."""
    forecast: str = _axis("frozen")
    """The forecast, as in "given, error 0.5"."""
    stated_bounds: str = _axis("right")
    """Drift bounds that the rule and the estimator are told: "right", or how they are wrong."""
    latency: str = _axis("instant")
    """Duration of updates and the action meanwhile, as in "4 steps, go-on"."""

    @classmethod
    def of(cls, record: Record) -> Self:
        """Return the part of a record that makes this key."""
        return cls(**{name: record[name] for name in cls.names() if record.get(name) is not None})

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the fields."""
        return [each.name for each in fields(cls)]

    def unusual(self) -> list[str]:
        """Return the values that differ from the paper's robot."""
        return [value for each in fields(Variant) if (value := getattr(self, each.name)) != each.default]

    def title(self) -> str:
        """Return the variant in words, as in "execution map, estimator true-kernel, forecast trend"."""
        values = {each: getattr(self, each.name) for each in fields(Variant)}
        return ", ".join(
            f"{each.name.replace('_', ' ')} {value}"
            for each, value in values.items()
            if each.metadata["always"] or value != each.default
        )


@dataclass(frozen=True, kw_only=True)
class RecordKey(Variant):
    """The key of a result in a study. Two results with equal keys are one result.

    Parameters
    ----------
    setting : str
        Name of the setting; values that the study varies are part of it, as in "two-burst budget=4".
    rule : str
        Name of the rule in the study. It is not compared, because the label contains it.
    label : str
        Name of the rule with the point of its grid.
    measure : str
        Names of the measures, with commas between them.
    execution, estimator, forecast, stated_bounds, latency : str
        The robot (`Variant`).
    """

    setting: str
    rule: str = field(compare=False)
    label: str
    measure: str = ""

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the fields, those of the variant last."""
        variant = Variant.names()
        return [*(each.name for each in fields(cls) if each.name not in variant), *variant]

    @property
    def name(self) -> str:
        """The rule with whatever is unusual about its robot."""
        return ", ".join([self.rule, *self.unusual()])


def differing(records: Iterable[Record]) -> list[str]:
    """Return the fields of `Variant` in which the records differ."""
    found = [Variant.of(record) for record in records]
    return [name for name in Variant.names() if len({getattr(each, name) for each in found}) > 1]
