"""The parts of a long reproduction, each in a process of its own and kept when it is done.

A reproduction that was stopped goes on where it was; what other code computed is not taken up again.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from replan.study.versions import code_version

Result = TypeVar("Result")
Task = tuple[Any, ...]  # the arguments of one part


def run_parts(
    compute: Callable[..., Result], tasks: Sequence[Task], *, workers: int, kept: Path | None = None
) -> Iterator[Result]:
    """compute(*task) for each task, in their order, as they are done; the folder `kept` keeps them."""
    if workers == 1:
        yield from (_part(compute, task, kept) for task in tasks)
        return
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=workers, return_as="generator")
    yield from run(delayed(_part)(compute, task, kept) for task in tasks)  # pyright: ignore[reportReturnType]


def kept_parts(compute: Callable[..., Result], tasks: Sequence[Task], *, kept: Path) -> list[Result]:
    """Those parts that are there already."""
    found = (_read(_path(compute, task, kept)) for task in tasks)
    return [result for result in found if result is not None]


def _part(compute: Callable[..., Result], task: Task, kept: Path | None) -> Result:
    if kept is None:
        return compute(*task)
    path = _path(compute, task, kept)
    result = _read(path)
    if result is None:
        result = compute(*task)
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".half")
        half.write_bytes(pickle.dumps(result))
        half.replace(path)
    return result


def _path(compute: Callable[..., Any], task: Task, kept: Path) -> Path:
    told = repr((code_version(), compute.__module__, compute.__qualname__, task))
    return kept / f"{hashlib.sha256(told.encode()).hexdigest()[:24]}.pickle"


def _read(path: Path) -> Any:
    try:
        return pickle.loads(path.read_bytes())
    except (FileNotFoundError, EOFError, pickle.UnpicklingError):
        return None
