"""Progress of a run on standard error: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from replan.study.cells import Entry
from replan.study.work import Failure, Outcome

LINE_SECONDS = 5.0  # between two plain lines
RATE_WINDOW = 30.0  # seconds that the rate looks back
SETTINGS_SHOWN = 20


@dataclass
class Tally:
    """Counts and pace of a run so far."""

    total: int
    done: int = 0  # stored earlier ones included
    failed: int = 0
    best: dict[str, tuple[float, str]] = field(default_factory=dict)  # setting -> least regret, rule
    _names: dict[int, list[tuple[str, str]]] = field(default_factory=dict)  # key -> setting, rule
    _marks: deque = field(default_factory=deque)  # (time, done)

    @classmethod
    def of(cls, entries: Iterable[Entry], stored: Iterable[tuple[int, float | None]]) -> Tally:
        """Make the tally of a study from its entries and the (key, regret) of stored cells."""
        names: dict[int, list[tuple[str, str]]] = {}
        for entry in entries:
            names.setdefault(entry.cell.key, []).append((entry.key.setting, entry.key.label))
        tally = cls(len(names), _names=names)
        for key, regret in stored:
            tally._take(key, regret)
        return tally

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Count what has finished."""
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                self.done += 1
                self.failed += 1
            else:
                values = outcome.values
                self._take(outcome.key, values.get("exact_regret", values.get("sampled_regret")))

    def _take(self, key: int, regret: float | None) -> None:
        if key not in self._names:
            return
        self.done += 1
        for setting, label in self._names[key]:
            if regret is not None and (setting not in self.best or regret < self.best[setting][0]):
                self.best[setting] = (regret, label)

    def rate(self, now: float) -> float | None:
        """Cells a second over the last while; None before anything is known."""
        self._marks.append((now, self.done))
        while now - self._marks[0][0] > RATE_WINDOW:
            self._marks.popleft()
        began, done = self._marks[0]
        return (self.done - done) / (now - began) if now > began and self.done > done else None

    def line(self, now: float) -> str:
        """Return the progress of the run in one line."""
        rate = self.rate(now)
        text = f"{self.done} of {counted(self.total, 'cell')}"
        if self.failed:
            text += f", {self.failed} failed"
        if rate and self.done < self.total:
            text += f", {rate:.3g} a second, {_duration((self.total - self.done) / rate)} left"
        return text


class ProgressLine:
    """Shows a tally."""

    def __init__(self, tally: Tally, *, quiet: bool = False) -> None:
        self._tally, self._quiet = tally, quiet
        self._live: Any = None
        self._last = 0.0

    def __enter__(self) -> ProgressLine:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(
                self._table(), console=Console(stderr=True), refresh_per_second=4, transient=True
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
        self.update(final=True)

    def update(self, *, final: bool = False) -> None:
        """Show where the run stands, not more often than it can be read."""
        if self._quiet:
            return
        now = time.monotonic()
        if self._live is not None and not final:
            if now - self._last >= 0.25:
                self._last = now
                self._live.update(self._table())
        elif final or now - self._last >= LINE_SECONDS:
            self._last = now
            print(self._tally.line(now), file=sys.stderr, flush=True)

    def _table(self) -> Any:
        from rich.table import Table

        shown = Table(title=self._tally.line(time.monotonic()), title_justify="left")
        shown.add_column("setting")
        shown.add_column("least regret", justify="right")
        shown.add_column("by")
        best = list(self._tally.best.items())
        for setting, (regret, label) in best[-SETTINGS_SHOWN:]:
            shown.add_row(setting, f"{regret:.4f}", label)
        if len(best) > SETTINGS_SHOWN:
            shown.caption = f"the last {SETTINGS_SHOWN} of {len(best)} settings"
        return shown


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 cell, 2 cells."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
