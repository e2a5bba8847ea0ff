"""Runs a study: missing cells go to the engine, finished ones to the store, until all are there.

Progress is shown on standard error: a live table on a terminal, plain lines elsewhere.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replan.results.store import Store
from replan.study.cells import Cell, Entry, entries, settings_rows
from replan.study.definition import Study
from replan.study.engine import Engine, drive
from replan.study.versions import versions
from replan.study.work import Failure, Outcome, outcome_rows

LINE_SECONDS = 5.0  # between two plain lines
RATE_WINDOW = 30.0  # seconds that the rate looks back
SETTINGS_SHOWN = 20


@dataclass(frozen=True)
class RunSummary:
    """Counts of cells at the end of a run."""

    folder: Path
    cells: int
    stored_before: int  # cells of the study that were there already
    computed: int
    failed: int
    failures: list[tuple[str, str, str]]  # setting, rule, reason
    stopped: bool  # by Ctrl-C
    seconds: float

    @property
    def missing(self) -> int:
        """Cells that were not tried."""
        return self.cells - self.stored_before - self.computed - self.failed


def run_study(
    study: Study,
    text: str,
    folder: Path,
    *,
    engine: Engine,
    resume: bool = False,
    quiet: bool = False,
) -> RunSummary:
    """Compute every cell that the store of a folder does not hold.

    Parameters
    ----------
    study : Study
        The study.
    text : str
        Its text, which is kept with the results.
    folder : Path
        Folder of the store.
    engine : Engine
        Computes cells; the caller closes it.
    resume : bool
        Whether to go on with a store that is there.
    quiet : bool
        Whether to show no progress.

    Returns
    -------
    RunSummary
        Counts of cells, and those that failed.
    """
    began = time.monotonic()
    planned = entries(study)
    cells = {entry.cell.key: entry.cell for entry in planned}
    with Store.begin(folder, resume=resume) as store, stop_signal() as stopped:
        stored = store.describe(
            study.name, text, [entry.row() for entry in planned], settings_rows(planned),
            engine=engine.name, workers=engine.workers, versions=versions(),
        )  # fmt: skip
        missing = _grouped(cell for key, cell in cells.items() if key not in stored)
        regrets = store.execute("select cell, coalesce(exact_regret, sampled_regret) from results")
        tally = Tally.of(planned, regrets)
        finished = 0
        with ProgressLine(tally, quiet=quiet) as progress:
            for outcomes in drive(engine, missing):
                if outcomes:
                    store.write(outcome_rows(outcomes, start=store.start))
                tally.add(outcomes)
                progress.update()
                finished += len(outcomes)
                if stopped.is_set():
                    break
        return RunSummary(
            folder=folder,
            cells=len(cells),
            stored_before=len(cells) - len(missing),
            computed=finished - tally.failed,
            failed=tally.failed,
            failures=store.failures(),
            stopped=stopped.is_set(),
            seconds=time.monotonic() - began,
        )


@contextmanager
def stop_signal() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C or SIGTERM sets; a second Ctrl-C interrupts at once."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, frame: object) -> None:
        stopped.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    for number in kept:
        signal.signal(number, stop)
    try:
        yield stopped
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _grouped(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells ordered by setting and execution, since these share a mission that workers cache."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.setting, cell.execution), []).append(cell)
    return [cell for group in groups.values() for cell in group]


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
        """Count finished cells."""
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
        """Return cells per second over the last `RATE_WINDOW` seconds; None before the first result."""
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
    """Shows a tally on standard error."""

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
        """Show the progress, at most a few times a second."""
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
