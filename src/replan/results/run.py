"""The results of a run as plain records, for tables, figures and the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from replan import Setting
from replan.results.key import Record, Variant
from replan.results.measure import result_columns
from replan.results.store import Store
from replan.typing import Array
from replan.worlds.settings import parse_setting


@dataclass(frozen=True)
class Run:
    """All that a store holds of its study.

    Parameters
    ----------
    name : str
        Name of the study.
    records : sequence of mappings
        One for each cell of the study, in its order: the columns of its key, of the cell and of its measures.
        A cell that failed has None in place of its measures.
    settings : mapping
        Setting by name. One that was run with several forecasts has none of them; with several durations of
        updates it has the first.
    data : mapping
        Data of what was run in place of a setting, such as flights, by name.
    returns : mapping
        Sampled returns `(N,)` by the record's `cell`.
    beside : Run, optional
        A run of another study on the same settings, whose results tables may show in addition.
    """

    name: str
    records: Sequence[Record]
    settings: Mapping[str, Setting]
    data: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    returns: Mapping[int, Array] = field(default_factory=dict, repr=False)
    beside: Run | None = field(default=None, repr=False)

    @property
    def rules(self) -> list[str]:
        """The names of the rules, in the order of the study."""
        return list(dict.fromkeys(record["rule"] for record in self.records))

    @property
    def ties(self) -> str:
        """The tie rules of the settings."""
        return ", ".join(sorted({setting.ties for setting in self.settings.values()}))

    @property
    def complete(self) -> bool:
        """Whether every cell has its results."""
        return not any(map(failed, self.records))


def failed(record: Record) -> bool:
    """Return whether a cell has no result."""
    return record["parameters"] is None


def read_run(folder: Path, *, samples: bool = False) -> Run:
    """Return the run that a folder holds.

    Parameters
    ----------
    folder : Path
        Folder of the store.
    samples : bool
        Whether to read sampled returns too.

    Returns
    -------
    Run
        All records of the study and its settings.

    Raises
    ------
    InputError
        If the folder holds no run, or one that cannot be read.
    """
    with Store.open(folder) as store:
        columns, rows = store.query("select * from cells left join results using (cell) order by position")
        types = store.types("cells") | store.types("results")
        settings = store.execute("select setting, data from settings")
        ((name,),) = store.execute("select value from meta where key = 'study'")
        ask = 'select cell, "return" from samples order by cell, seed'
        returns = _by_cell(*store.columns(ask)) if samples else {}
    data = _one_each(settings)
    missing = {**dict.fromkeys(result_columns()), **vars(Variant())}
    return Run(
        name=name,
        records=[missing | _read(dict(zip(columns, row, strict=True)), types) for row in rows],
        settings={name: parse_setting(each, where=name) for name, each in data.items() if "world" in each},
        data={name: each for name, each in data.items() if "world" not in each},
        returns=returns,
    )


def _one_each(rows: Sequence[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Return the first data of every setting, without a forecast where it has several."""
    found: dict[str, dict[str, Any]] = {}
    for name, text in rows:
        data = json.loads(text)
        first = found.setdefault(name, data)
        if first.get("forecast") != data.get("forecast"):
            first.pop("forecast", None)
    return found


def _read(row: dict[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: json.loads(value) if types[name] == "json" and value is not None else value
        for name, value in row.items()
    }


def _by_cell(cells: Array, returns: Array) -> dict[int, Array]:
    """Return the returns of each cell, which stand together."""
    edges = np.flatnonzero(np.diff(cells)) + 1
    return {
        int(keys[0]): part
        for keys, part in zip(np.split(cells, edges), np.split(returns, edges), strict=True)
        if len(keys)
    }
