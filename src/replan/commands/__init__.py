"""Commands: each is a function of options that returns a `CommandAnswer`, for programs and for people."""

from __future__ import annotations

import json
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from replan.results.table import Table

Doing = Callable[[str], None]
"""Tells a person what is being done."""


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
    def lines(self) -> Iterable[str | Table]:
        """Return lines and tables for people."""


@dataclass(frozen=True)
class PlainAnswer(CommandAnswer):
    """An answer whose record and lines are made beforehand."""

    facts: dict[str, Any]
    shown: Sequence[str | Table]
    exit_status: int = 0

    @property
    def status(self) -> int:
        return self.exit_status

    def record(self) -> dict[str, Any]:
        return self.facts

    def lines(self) -> Sequence[str | Table]:
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
