"""Interface of transition kernels: P(s' | s, a), the paper's section 2.

Planning, execution, evaluation and certificates are written against `Kernel`. `GeneralKernel` holds any
kernel as lists of successors (`general_kernel.py`), `SlipKernel` that of a slippery grid in closed form.
Loops over the states of a large kernel run on all cores (`in_bands`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import numpy as np

from replan import _loops
from replan.typing import Array, Indices

if TYPE_CHECKING:
    from replan.model.general_kernel import GeneralKernel

T = TypeVar("T")

MAP_TOLERANCE = 1e-9  # successors this close to the most likely one count as equally likely
SERIAL_BELOW = 10_000
"""States; under this, handing out work costs more than it gives."""


@runtime_checkable
class Kernel(Protocol):
    """Interface of a transition kernel with S states and A actions; R rows are distributions or robots."""

    @property
    def states(self) -> int:
        """Number of states S."""
        ...

    @property
    def actions(self) -> int:
        """Number of actions A."""
        ...

    def expect(self, values: Array) -> Array:
        """(S,) values of the next state -> (S, A) their expectation."""
        ...

    def backup(
        self,
        values: Array,
        reward: Array | None = None,
        *,
        plus: Array | None = None,
        out: Array | None = None,
    ) -> Array:
        """(S,) max over actions of reward (S, A) + expect(values + plus), into `out` where given."""
        ...

    def greedy(self, values: Array, reward: Array | None, tolerance: float) -> Indices:
        """(S,) the first action within the tolerance of the best reward (S, A) + expect(values)."""
        ...

    def push(self, distributions: Array, actions: Indices) -> Array:
        """Move (R, S) distributions one step, row i under actions[i]."""
        ...

    def sample(self, states: Indices, actions: Indices, uniforms: Array) -> Indices:
        """(R,) next states by inversion of (R,) uniform numbers."""
        ...

    def most_likely(self) -> Indices:
        """(S, A) the MAP successor; among tied ones the lowest state index."""
        ...

    def most_likely_of(self, states: Indices, actions: Indices) -> Indices:
        """(R,) the MAP successor of each state under its action."""
        ...

    def entrywise_distance(self, other: Kernel) -> Array:
        """(S, A) max over s' of |P - P'|."""
        ...

    def total_variation(self, other: Kernel) -> Array:
        """(S, A) half the sum over s' of |P - P'|."""
        ...

    def general(self) -> GeneralKernel:
        """Return the same kernel as merged lists of successors."""
        ...


def first_best(values: Array, tolerance: float) -> Indices:
    """(R,) the first column of (R, A) values within the tolerance of the row's best."""
    out = np.empty(len(values), dtype=np.int64)
    in_bands(_loops.general.first_best, len(out), len(out), values, tolerance, out)
    return out


@cache
def _threads(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="replan")


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a fork has none of the threads


def _cores() -> int:
    """Return the number of threads of a loop: NUMBA_NUM_THREADS, as in numba, else one for each core."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    given = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(int(given), cores) if given.isdigit() and int(given) else cores


def in_bands(loop, count: int, size: int, *arguments) -> None:
    """Call loop(first, last, *arguments) so that [0, count) is covered; `size` is the number of states.

    The loops release the interpreter lock and write to separate places, so the result is the same.
    """
    band_results(lambda first, last: loop(first, last, *arguments), count, serial=size < SERIAL_BELOW)


def band_results(work: Callable[[int, int], T], count: int, *, serial: bool) -> list[T]:
    """Return work(first, last) of bands that cover [0, count), in order: one band, or one for each core."""
    workers = 1 if serial else _cores()
    if workers == 1:
        return [work(0, count)]
    edges = [count * band // workers for band in range(workers + 1)]
    pool = _threads(workers)
    return [done.result() for done in [pool.submit(work, *band) for band in pairwise(edges)]]


def constant(value):
    """Return a function of time that is constant.

    Parameters
    ----------
    value : Kernel or Reward
        The value.

    Returns
    -------
    callable
        t -> value.
    """
    return lambda t: value
