"""Commands: each is a function of options that returns a `CommandAnswer`, for programs and for people."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from replan.errors import InputError, require_extra

Doing = Callable[[str], None]
"""Tells a person what is being done."""


class Showable(Protocol):
    """Part of an answer that prints itself, such as a table."""

    def show(self) -> None:
        """Print it."""
        ...


class CommandAnswer(ABC):
    """The result of a command."""

    @property
    def status(self) -> int:
        """Exit status: 0, or 1 for work that failed in part."""
        return 0

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """Return the JSON object."""

    @abstractmethod
    def lines(self) -> Iterable[str | Showable]:
        """Return lines, and what prints itself, for people."""


@dataclass(frozen=True)
class PlainAnswer(CommandAnswer):
    """An answer whose record and lines are made beforehand."""

    facts: dict[str, Any]
    shown: Sequence[str | Showable]
    exit_status: int = 0

    @property
    def status(self) -> int:
        return self.exit_status

    def record(self) -> dict[str, Any]:
        return self.facts

    def lines(self) -> Sequence[str | Showable]:
        return self.shown


@dataclass(frozen=True)
class Output:
    """Options of every command."""

    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False

    def show(self, answer: CommandAnswer) -> None:
        """Print an answer as one JSON object, or for people."""
        if self.as_json:
            typer.echo(json.dumps(plain(answer.record()), allow_nan=False))
            return
        for line in answer.lines():
            if isinstance(line, str):
                typer.echo(line)
            else:
                line.show()

    @contextmanager
    def waiting(self) -> Iterator[Doing]:
        """Yield a function that shows what is being done, with a spinner if a person is watching."""
        if self.as_json or not sys.stderr.isatty():
            yield lambda doing: None
            return
        from rich.console import Console

        with Console(stderr=True).status("working; Ctrl-C stops") as status:
            yield lambda doing: status.update(f"{doing}; Ctrl-C stops")


def plain(value: Any) -> Any:
    """Return NumPy scalars and arrays as plain data, and numbers that JSON does not have as null."""
    import numpy as np

    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def find_writer(path: Path, table: Mapping[str, tuple[str, str]]) -> Callable[..., Any]:
    """Return the function that a table names for the ending of a file.

    Raises `InputError` for another ending, or if its extra is not installed.
    """
    if path.suffix not in table:
        raise InputError(f"--out must be a {' or '.join(table)} file, not {path}")
    place, extra = table[path.suffix]
    require_extra(extra, f"--out {path}")
    module, _, name = place.partition(":")
    return vars(import_module(module))[name]


def output_folder(path: Path) -> Path:
    """Create the folder if needed and return it. Raises `InputError` if it is not writable."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".replan-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"cannot write to {path}: {error.strerror}") from None
    return path


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV with 12 digits; no spreadsheet takes a text for a formula."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(in_spreadsheet, columns))
    for row in rows:
        values = map(in_spreadsheet, row)
        writer.writerow([f"{x:.12g}" if isinstance(x, float) else x for x in values])
    return buffer.getvalue()


def in_spreadsheet(value: Any) -> Any:
    """Return a value of a CSV file that no spreadsheet takes for a formula."""
    formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if formula else value


def write_whole(path: Path, text: str) -> Path:
    """Write the text and create its folder if needed. If the disk is full, the file that was there stays.

    Raises `InputError` if it cannot be written.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    return path
