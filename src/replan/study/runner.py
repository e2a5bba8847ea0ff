"""Runs a study: missing cells go to the engine, finished ones to the store, until all are there."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from replan.results.store import Store
from replan.study.cells import Cell, entries, settings_rows
from replan.study.definition import Study
from replan.study.engine import Engine, drive
from replan.study.progress import ProgressLine, Tally
from replan.study.versions import versions
from replan.study.work import outcome_rows


@dataclass(frozen=True)
class RunSummary:
    """The end of a run."""

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
    engine: Callable[[], Engine],
    resume: bool = False,
    quiet: bool = False,
) -> RunSummary:
    """Compute every cell that the store of a folder does not hold.

    The engine is made first: one that cannot be had leaves no store behind, and Ctrl-C ends the wait for it.

    Parameters
    ----------
    study : Study
        The study.
    text : str
        Its text, which is kept with the results.
    folder : Path
        Folder of the store.
    engine : callable
        Makes the engine that computes cells.
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
    with (
        closing(engine()) as workers,
        Store.begin(folder, resume=resume) as store,
        stop_signal() as stopped,
    ):
        stored = store.describe(
            study.name, text, [entry.row() for entry in planned], settings_rows(planned),
            engine=workers.name, workers=workers.workers, versions=versions(),
        )  # fmt: skip
        missing = _grouped(cell for key, cell in cells.items() if key not in stored)
        tally = Tally.of(planned, _stored_regrets(store))
        finished = 0
        with ProgressLine(tally, quiet=quiet) as progress:
            for outcomes in drive(workers, missing):
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
    """Set by the first Ctrl-C (or SIGTERM), so that nothing is cut short; the second one ends at once."""
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
    """Return the cells with those of one setting and execution together, which share what a worker keeps."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.setting, cell.execution), []).append(cell)
    return [cell for group in groups.values() for cell in group]


def _stored_regrets(store: Store) -> list[tuple[int, float | None]]:
    return store.execute("select cell, coalesce(exact_regret, sampled_regret) from results")
