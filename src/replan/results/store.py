"""The store of a run: one DuckDB file in the run's folder, written in transactions as cells finish.

Results are filed under a cell's key and never changed. The tables that describe the study (`meta`, `cells`,
`settings`) are those of the last start, so that a study that has grown continues from what is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from replan.errors import InputError
from replan.results.key import RecordKey
from replan.results.measure import result_columns

FILE = "store.duckdb"
FORMAT = 1
MEMORY = "400MB"  # of the database in the driver

Row = Mapping[str, Any]
Columns = Mapping[str, Any]
"""One value for each row by column, as lists or arrays."""

TABLES = {
    "meta": "key text primary key, value text",
    "starts": "start integer primary key, began timestamp, engine text, workers integer, versions json, "
    "stored integer, missing integer",
    "settings": "setting text, data json, forecast text, latency text",
    "cells": "position integer, cell bigint, identity text, "
    + ", ".join(f"{name} text" for name in RecordKey.names())
    + ", given json, search text, first_seed bigint, seeds integer, registered_rule text, digest text, "
    "source text",
    "results": "cell bigint primary key",  # and the columns of all measures
    "samples": 'cell bigint, seed bigint, "return" double, regret double',
    "decisions": "cell bigint, seed bigint, t integer, updated boolean, score double, threshold double, "
    "terms json, reason text",
    "timings": "cell bigint, start integer, seconds double, cpu_seconds double, worker text, "
    "finished timestamp default now()::timestamp",
    "failures": "cell bigint, start integer, reason text",
}


class Store:
    """An open store. Every fault of the file or the disk is one line, an `InputError`."""

    def __init__(self, connection: Any, path: Path) -> None:
        self._connection, self.path = connection, path
        self._types: dict[str, dict[str, str]] = {}
        self.start = 0
        """Number of this start of the run, after `describe`."""

    @classmethod
    def begin(cls, folder: Path, *, resume: bool) -> Store:
        """Open for writing: a new store, or with `resume` the one that is there."""
        path = folder / FILE
        if path.exists() and not resume:
            raise InputError(
                f"{folder} holds a run already: give --resume to go on with it, or another --out"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror})") from None
        if path.exists():
            with cls.open(folder, empty_too=True) as before:
                before._read_all()
        store = cls(_connect(path, read_only=False), path)
        with store._speaking(), store.transaction():
            for name, columns in TABLES.items():
                store.execute(f"create table if not exists {name} ({columns})")
                wanted = dict(each.split(" ", 1) for each in columns.replace('"', "").split(", "))
                if name == "results":
                    wanted |= {each.name: each.type for each in result_columns().values()}
                known = store.types(name)
                for column in [column for column in wanted if column not in known]:
                    store.execute(f"alter table {name} add column {column} {wanted[column]}")
            store.execute("insert or ignore into meta values ('format', ?)", [str(FORMAT)])
        return store

    @classmethod
    def open(cls, folder: Path, *, empty_too: bool = False) -> Store:
        """Open for reading."""
        path = folder / FILE
        if not path.exists():
            raise InputError(f"{folder} holds no run: there is no {FILE} in it")
        store = cls(_connect(path, read_only=True), path)
        try:
            store._check_format(empty_too=empty_too)
        except InputError:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple]:
        """Return the rows that a statement answers with."""
        return self._connection.execute(sql, values).fetchall()

    def query(self, sql: str, *, isolated: bool = False) -> tuple[list[str], list[tuple]]:
        """Return column names and rows; an isolated query touches nothing outside the store."""
        import duckdb

        if isolated:
            self._connection.execute("set enable_external_access = false")
        try:
            found = self._connection.execute(sql)
            return [column[0] for column in found.description or ()], found.fetchall()
        except (duckdb.IOException, duckdb.FatalException, duckdb.InternalException) as error:
            raise InputError(_fault(self.path, error)) from None
        except duckdb.Error as error:
            raise InputError(f"the query fails: {str(error).splitlines()[0]}") from None

    def columns(self, sql: str) -> list[Any]:
        """Return the columns that a statement answers with, as arrays."""
        with self._speaking():
            return list(self._connection.execute(sql).fetchnumpy().values())

    def types(self, table: str) -> dict[str, str]:
        """Return the type of each column of a table, in lower case."""
        with self._speaking():
            rows = self.execute(
                "select column_name, data_type from duckdb_columns() where table_name = ?", [table]
            )
        return {name: kind.lower() for name, kind in rows}

    def export(self, folder: Path, form: Literal["parquet", "csv"] = "parquet") -> list[Path]:
        """Write every table as a file and return the files."""
        options = {"parquet": "format parquet", "csv": "format csv, header"}[form]
        found = []
        with self._speaking():
            for name in TABLES:
                found.append(folder / f"{name}.{form}")
                target = str(found[-1]).replace("'", "''")
                self.execute(f"copy (select * from {name} order by all) to '{target}' ({options})")
        return found

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all or nothing."""
        self._connection.begin()
        try:
            yield
        except BaseException:
            with suppress(Exception):  # a database that broke has rolled back by itself
                self._connection.rollback()
            raise
        self._connection.commit()

    def describe(
        self, name: str, text: str, cells: Sequence[Row], settings: Sequence[Row], *,
        engine: str, workers: int, versions: Mapping[str, str],
    ) -> set[int]:  # fmt: skip
        """Record the study, the engine and the versions of this start; returns the keys of stored cells.

        Raises `InputError` if the source of a rule has changed since the last start.
        """
        sources = {cell["registered_rule"]: cell["digest"] for cell in cells}
        with self._speaking():
            for rule, digest in self.execute("select distinct registered_rule, digest from cells"):
                if digest is not None and sources.get(rule, digest) != digest:
                    raise InputError(f"{rule} has changed since this run began: give another --out")
            stored = {key for (key,) in self.execute("select cell from results")}
            missing = {cell["cell"] for cell in cells} - stored
            self.start = self.execute("select coalesce(max(start), 0) + 1 from starts")[0][0]
            with self.transaction():
                for key, value in (("study", name), ("definition", text)):
                    self.execute("insert or replace into meta values (?, ?)", [key, value])
                self.execute(
                    "insert into starts values (?, now()::timestamp, ?, ?, ?, ?, ?)",
                    [self.start, engine, workers, json.dumps(versions), len(stored), len(missing)],
                )
                for table in ("settings", "cells", "failures"):
                    self.execute(f"delete from {table}")
                self._insert("settings", by_column(settings))
                self._insert("cells", by_column(cells))
        return stored

    def write(self, tables: Mapping[str, Columns]) -> None:
        """File rows of several tables, in one transaction."""
        with self._speaking(), self.transaction():
            for table, columns in tables.items():
                self._insert(table, columns)

    def failures(self) -> list[tuple[str, str, str]]:
        """Return setting, rule and reason of each cell that failed at the last start, in order."""
        with self._speaking():
            return self.execute(
                "select setting, label, reason from failures join cells using (cell) order by position"
            )

    def _insert(self, table: str, columns: Columns) -> None:
        """Insert rows column by column: DuckDB reads NumPy arrays at once, rows one by one."""
        if not columns or not len(next(iter(columns.values()))):
            return
        if table not in self._types:
            self._types[table] = self.types(table)
        incoming = {name: _array(values, self._types[table][name]) for name, values in columns.items()}
        numbers = {name for name, array in incoming.items() if array.dtype == float}
        selected = [
            f'if(isnan("{name}"), null, "{name}")' if name in numbers else f'"{name}"' for name in incoming
        ]
        names = ", ".join(f'"{name}"' for name in incoming)
        self._connection.register("incoming", incoming)
        self.execute(f"insert into {table} ({names}) select {', '.join(selected)} from incoming")
        self._connection.unregister("incoming")

    def _read_all(self) -> None:
        """Read every block once: a damaged one is noticed before anything is written."""
        with self._speaking():
            for (name,) in self.execute("select table_name from duckdb_tables()"):
                self.execute(f'select bit_xor(hash(t)) from "{name}" t')

    def _check_format(self, *, empty_too: bool) -> None:
        with self._speaking():
            tables = {name for (name,) in self.execute("select table_name from duckdb_tables()")}
            if not tables and empty_too:  # the run was ended before its first transaction
                return
            found = self.execute("select value from meta where key = 'format'") if "meta" in tables else []
        if not found:
            raise InputError(f"{self.path}: not the store of a run; nothing was changed")
        if int(found[0][0]) > FORMAT:
            raise InputError(
                f"{self.path}: written by a newer replan (format {found[0][0]}, this one knows {FORMAT}): "
                "upgrade replan; nothing was changed"
            )

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turn faults of the database into one line."""
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            raise InputError(_fault(self.path, error)) from None


def by_column(rows: Iterable[Row]) -> Columns:
    """Return rows as columns; a value that a row lacks is None."""
    rows = list(rows)
    names = dict.fromkeys(chain.from_iterable(rows))
    return {name: [row.get(name) for row in rows] for name in names}


def _array(values: Any, kind: str) -> np.ndarray:
    """Return an array that DuckDB reads; NaN stands for a missing number."""
    if isinstance(values, np.ndarray):
        return values
    if kind in ("varchar", "json"):
        return np.array(values, dtype=object)
    if kind in ("bigint", "boolean"):
        return np.asarray(values)
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _connect(path: Path, *, read_only: bool) -> Any:
    import duckdb

    try:
        connection = duckdb.connect(str(path), read_only=read_only)
        connection.execute(f"set memory_limit = '{MEMORY}'")
        connection.execute("set threads = 2")
        return connection
    except duckdb.Error as error:
        raise InputError(_fault(path, error)) from None


def _fault(path: Path, error: Exception) -> str:
    """Return a line that names the fault of the file and says that stored results are safe."""
    said = str(error).splitlines()[0]
    if "set lock" in said:
        return f"{path}: another process is using it"
    if any(sign in said for sign in ("No space", "File too large", "could not write", "Could not write")):
        return f"{path}: the disk is full or cannot be written; what was stored is kept, go on with --resume"
    if any(sign in said for sign in ("Permission denied", "Read-only", "Cannot open file")):
        return f"{path}: cannot be opened ({said}); nothing was changed"
    return f"{path}: the store is damaged or not one of replan's ({said}); nothing was changed"
