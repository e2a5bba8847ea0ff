"""The `local` engine: worker processes on this machine's cores, by joblib's process pool."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from joblib import cpu_count
from joblib.externals.loky import (
    FIRST_COMPLETED,
    BrokenProcessPool,
    ProcessPoolExecutor,
    process_executor,
    wait,
)

from replan.errors import InputError
from replan.study.work import Batch, Outcome, compute_batch

# Cells run side by side, and sums come out the same whatever the number of cores.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
ENVIRONMENT = dict.fromkeys(THREADS, "1")
# Bytes: the C library keeps some hundreds of megabytes that were freed, for the next cell.
GROWTH = 2_000_000_000


class LocalEngine:
    """A pool of worker processes, replaced at the next batch if it has lost a worker."""

    name = "local"

    def __init__(self, *, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise InputError(f"--workers must be at least 1, not {workers}")
        self.workers = workers or cpu_count()
        self.slots = 2 * self.workers  # a batch waits at every worker
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, batch: Batch) -> Any:
        """Start a batch."""
        return self.start(compute_batch, batch)

    def start(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """Queue a call of the function in a worker."""
        for _ in range(3):
            try:
                if self._pool is not None:
                    return self._pool.submit(function, *arguments)
                self._pool = ProcessPoolExecutor(
                    self.workers, initializer=_begin, initargs=(os.getpid(),), env=ENVIRONMENT
                )
                with interrupts_handled_by(signal.SIG_IGN):  # also in the workers, which start here
                    return self._pool.submit(function, *arguments)
            except (BrokenProcessPool, RuntimeError):
                self.close()
        raise InputError("worker processes cannot be started on this machine")

    def wait(self, handles: Sequence[Any], timeout: float) -> list[tuple[Any, list[Outcome] | None]]:
        """Return the batches that have finished."""
        done = wait(handles, timeout=timeout, return_when=FIRST_COMPLETED).done
        return [(future, self._outcomes(future)) for future in done]

    def _outcomes(self, future: Any) -> list[Outcome] | None:
        try:
            return future.result()
        except BrokenProcessPool:
            return None

    def close(self) -> None:
        """End the workers."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            pool.shutdown(wait=True, kill_workers=True)


@contextmanager
def interrupts_handled_by(handler: signal.Handlers) -> Iterator[None]:
    """Set the handler of Ctrl-C in the main thread; processes started in this context inherit it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _begin(driver: int) -> None:
    """End this worker when the driver ends, and not for memory that it keeps to use again."""
    process_executor._MAX_MEMORY_LEAK_SIZE = GROWTH

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
