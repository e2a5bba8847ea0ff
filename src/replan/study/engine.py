"""Engines, which compute cells: their interface, and the loop that keeps any engine busy.

An engine takes batches and hands back outcomes as they finish. At most `slots` batches are under way, so that
memory is bounded however long the study. A batch whose worker died is tried again cell by cell, alone, so
that a cell that kills its worker takes no other down with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from replan.errors import InputError
from replan.study.cells import Cell
from replan.study.work import Batch, Failure, Outcome

BATCH_SECONDS = 1.0
BATCH_SAMPLES = 500_000  # sampled returns in one batch: 8 MB, what a worker hands back at once
LOSSES_ALLOWED = 3  # times that a cell may lose its worker while no other cell runs
POLL_SECONDS = 0.2

Handle = Any


class Engine(Protocol):
    """A set of workers that compute batches of cells."""

    name: str
    workers: int
    slots: int  # batches to keep under way

    def submit(self, batch: Batch) -> Handle:
        """Start a batch."""
        ...

    def wait(self, handles: Sequence[Handle], timeout: float) -> list[tuple[Handle, list[Outcome] | None]]:
        """Return the batches that have finished, with None for one whose worker was lost."""
        ...

    def close(self) -> None:
        """End the workers, even if they are busy."""
        ...


def make_engine(
    name: str, *, workers: int | None = None, address: str | None = None, working_dir: str | None = None
) -> Engine:
    """Return the engine of that name."""
    if name == "local":
        from replan.study.local import LocalEngine

        for option, value in (("--address", address), ("--working-dir", working_dir)):
            if value is not None:
                raise InputError(f"{option} goes with --engine ray")
        return LocalEngine(workers=workers)
    if name == "ray":
        from replan.study.ray_engine import RayEngine

        return RayEngine(address=address, workers=workers, working_dir=working_dir)
    raise InputError(f"--engine must be local or ray, not {name!r}")


class Batches:
    """Cuts cells into batches of about a second, by the pace of the cells done so far."""

    def __init__(self, cells: Iterable[Cell], *, workers: int) -> None:
        self._cells = deque(cells)
        self._workers = workers
        self._recent: deque[float] = deque(maxlen=256)  # seconds of the last cells
        self._largest = 1

    def learn(self, outcomes: Iterable[Outcome]) -> None:
        """Record how long cells took."""
        self._recent.extend(outcome.seconds for outcome in outcomes)

    def next(self) -> Batch | None:
        """Return the next batch, at most twice as large as the largest so far; None if no cell is left."""
        if not self._cells:
            return None
        batch = tuple(self._cells.popleft() for _ in range(self._size()))
        self._largest = max(self._largest, len(batch))
        return batch

    def _size(self) -> int:
        first = self._cells[0]
        together = first.measure[0].together(first)
        if together is not None:
            return min(together[1], -(-len(self._cells) // self._workers))
        if not self._recent:
            return 1
        pace = max(sum(self._recent) / len(self._recent), 1e-6)
        by_samples = BATCH_SAMPLES // max(first.seeds[1], 1)
        fair_share = len(self._cells) // (2 * self._workers)  # leaves work for all of them at the end
        return max(1, min(int(BATCH_SECONDS / pace), 2 * self._largest, by_samples, fair_share))


def drive(engine: Engine, cells: Sequence[Cell]) -> Iterator[list[Outcome]]:
    """Yield outcomes as they finish, every cell once, and an empty list whenever a wait ends without any."""
    batches = Batches(cells, workers=engine.workers)
    under_way: dict[Handle, Batch] = {}
    suspects: list[Cell] = []
    while True:
        while not suspects and len(under_way) < engine.slots and (batch := batches.next()):
            under_way[engine.submit(batch)] = batch
        if not under_way and not suspects:
            return
        if not under_way:
            for cell in suspects:
                yield from _alone(engine, cell)
            suspects = []
            continue
        finished = engine.wait(list(under_way), POLL_SECONDS)
        for handle, outcomes in finished:
            batch = under_way.pop(handle)
            if outcomes is None:
                suspects += batch
            else:
                batches.learn(outcomes)
                yield outcomes
        if not finished:
            yield []


def _alone(engine: Engine, cell: Cell) -> Iterator[list[Outcome]]:
    for _ in range(LOSSES_ALLOWED):
        handle = engine.submit((cell,))
        while not (finished := engine.wait([handle], POLL_SECONDS)):
            yield []
        outcomes = finished[0][1]
        if outcomes is not None:
            yield outcomes
            return
    reason = f"WorkerLost: its worker process died {LOSSES_ALLOWED} times while it ran alone"
    yield [Failure(cell.key, 0.0, "", reason)]
