"""Pivot tables of records: a table is defined by its row keys, its column key and the value shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from replan.results.key import Record, RecordKey

Part = str | Callable[[Record], Any]
"""A column of the records, or a function of a record."""


def part_of(record: Record, part: Part) -> Any:
    """Return the value of a part; None if the record does not have it."""
    return record.get(part) if isinstance(part, str) else part(record)


def group(records: Iterable[Record], *parts: Part) -> dict[tuple[Any, ...], list[Record]]:
    """Return the records by the values of the parts, in order of appearance."""
    found: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        found.setdefault(tuple(part_of(record, part) for part in parts), []).append(record)
    return found


@dataclass(frozen=True)
class Pivot:
    """The records of a table by row and column."""

    value: Part
    rows: Sequence[tuple[Any, ...]]
    columns: Sequence[Any]
    records: dict[tuple[tuple[Any, ...], Any], list[Record]]

    def all(self, row: tuple[Any, ...], column: Any) -> list[Record]:
        """Return the records of a cell, the one with the least value first."""
        return self.records.get((row, column), [])

    def record(self, row: tuple[Any, ...], column: Any) -> Record | None:
        """Return the record of a cell, the one with the least value if there are several."""
        return next(iter(self.all(row, column)), None)

    def __getitem__(self, cell: tuple[tuple[Any, ...], Any]) -> Any:
        """Return the value of a cell (row, column); None if there is none."""
        record = self.record(*cell)
        return None if record is None else part_of(record, self.value)

    def row(self, row: tuple[Any, ...]) -> list[Any]:
        """Return the values of a row."""
        return [self[row, column] for column in self.columns]

    def labelled(self, *, once: int = 0) -> Iterator[tuple[tuple[Any, ...], tuple[str, ...]]]:
        """Yield each row and its labels; the first `once` of them are empty if they repeat those above."""
        above: tuple[Any, ...] = ()
        for row in self.rows:
            repeats = row[:once] == above[:once]
            yield row, tuple("" if repeats and k < once else str(label) for k, label in enumerate(row))
            above = row


def pivot(
    records: Iterable[Record], rows: Sequence[Part], columns: Part, value: Part, *, least: bool = False
) -> Pivot:
    """Return the records by row and column.

    Parameters
    ----------
    records : iterable of mappings
        Those whose value is None have no place in the table.
    rows : sequence of str or callable
        Columns of the records that name a row.
    columns : str or callable
        The column of the records that names a column.
    value : str or callable
        The column of the records that is shown.
    least : bool
        Of several records in one cell the one with the least value is shown.

    Raises
    ------
    ValueError
        If two records fall into one cell and `least` is not given: the table would hide one of them.

    Examples
    --------
    >>> records = [{"setting": "a", "rule": rule, "regret": 0.5} for rule in ("periodic", "random")]
    >>> pivot(records, ["setting"], "rule", "regret").row(("a",))
    [0.5, 0.5]
    """
    shown = [record for record in records if part_of(record, value) is not None]
    cells: dict[tuple[tuple[Any, ...], Any], list[Record]] = {}
    for record in shown:
        row = tuple(part_of(record, part) for part in rows)
        cells.setdefault((row, part_of(record, columns)), []).append(record)
    for (row, column), found in cells.items():
        if len(found) > 1 and not least:
            raise ValueError(
                f"several results for {column} in row {row}: {[RecordKey.of(each) for each in found]}"
            )
        found.sort(key=lambda record: part_of(record, value) if least else 0)
    return Pivot(
        value, list(dict.fromkeys(row for row, _ in cells)), list(dict.fromkeys(c for _, c in cells)), cells
    )
