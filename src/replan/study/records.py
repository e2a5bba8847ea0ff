"""The results of a run as plain records, for tables, figures and the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array
from replan.schedule.rule import Rule
from replan.study.rule_source import given_rule
from replan.study.store import Store
from replan.study.store_tables import JSON_COLUMNS
from replan.worlds.settings import Setting, parse_setting

Record = Mapping[str, Any]  # columns of the store's `cells` and `results`, JSON read


@dataclass(frozen=True)
class Run:
    """All that a store holds of its study."""

    name: str
    records: Sequence[Record]  # one for each cell of the study, in its order; no results where it failed
    settings: Mapping[str, Setting]  # by name, without a forecast if there are several; no flights
    returns: Mapping[int, Array] = field(repr=False)  # (N,) sampled, by cell

    @property
    def rules(self) -> list[str]:
        """The names of the rules, in the order of the study."""
        return list(dict.fromkeys(record["rule"] for record in self.records))

    @property
    def ties(self) -> str:
        """The tie rules of the settings."""
        return ", ".join(sorted({setting.ties for setting in self.settings.values()}))

    def by_setting(self) -> dict[str, dict[str, Record]]:
        """Return the records by setting and rule, of studies with one record for each."""
        found: dict[str, dict[str, Record]] = {}
        for record in self.records:
            found.setdefault(record["setting"], {})[record["rule"]] = record
        return found

    @property
    def complete(self) -> bool:
        """Whether every cell has its results."""
        return all(record["parameters"] is not None for record in self.records)


def read_run(folder: Path, *, samples: bool = False) -> Run:
    """Read the run in a folder.

    Parameters
    ----------
    folder : Path
        Folder of the run.
    samples : bool
        Whether sampled returns are read too.

    Returns
    -------
    Run
        The records of every cell.
    """
    with Store.open(folder) as store:
        columns, rows = store.query("select * from cells left join results using (cell) order by position")
        settings = store.execute("select setting, data from settings")
        ((name,),) = store.execute("select value from meta where key = 'study'")
        ask = 'select cell, "return" from samples order by cell, seed'
        returns = _by_cell(*store.columns(ask)) if samples else {}
    read = _common(settings)
    return Run(
        name=name,
        records=[_record(dict(zip(columns, row, strict=True)), read) for row in rows],
        settings={
            name: parse_setting(data, where=name) for name, data in read.items() if "density" not in data
        },
        returns=returns,
    )


def rule_of(record: Record) -> Rule | None:
    """Return the rule as it was run; None where it failed, or is not registered here."""
    if record.get("parameters") is None:
        return None
    try:
        name = record.get("registered_rule") or record["rule"]
        return given_rule(name, dict(record["parameters"]), record.get("source"))
    except InputError:
        return None


def _common(rows: Sequence[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Return the data of every setting; one with several forecasts has none of them."""
    found: dict[str, dict[str, Any]] = {}
    for name, text in rows:
        data = json.loads(text)
        if name in found and found[name] != data:
            data.pop("forecast", None)
        found[name] = data
    return found


def _record(row: dict[str, Any], settings: Mapping[str, dict[str, Any]]) -> Record:
    read = {name: json.loads(row[name]) for name in JSON_COLUMNS if row.get(name) is not None}
    flown = settings[row["setting"]]
    flown = {key: flown[key] for key in ("density", "layouts", "trial", "cuts") if "density" in flown}
    return {**dict.fromkeys(JSON_COLUMNS), "stated_bounds": "right", **row, **read, **flown}


def _by_cell(cells: Array, returns: Array) -> dict[int, Array]:
    """The returns of each cell, which stand together."""
    edges = np.flatnonzero(np.diff(cells)) + 1
    return {
        int(keys[0]): part
        for keys, part in zip(np.split(cells, edges), np.split(returns, edges), strict=True)
        if len(keys)
    }
