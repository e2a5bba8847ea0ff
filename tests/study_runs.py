"""A small study for tests of whole runs, and how to start one in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from typing import Any

from replan.results.key import Record
from replan.results.pivot import pivot
from replan.results.run import Run, read_run
from replan.study.definition import Study, parse_study
from replan.study.local import LocalEngine
from replan.study.runner import run_study
from replan.study.work import compute_batch

STUDY = """
settings = [{ base = "two-burst", vary = { n = [4, 5], horizon = [30], budget = [2, 3, 4] } }]
rules = [
  "periodic",
  { rule = "random" },
  { rule = "regret-guided", grid = { alpha = [0.5, 0.9], m = [1, 3], diameter = [0.1, 1.0] } },
]
executions = ["map", "belief"]
measure = ["exact", "sampled"]
seeds = { count = 40 }
intervals = false
"""
SEEDS = 40
CELLS = 2 * 3 * 10 * 2

LONG_STUDY = STUDY.replace("n = [4, 5], horizon = [30]", "n = [4, 5, 6], horizon = [50]")
LONG_CELLS = 3 * 3 * 10 * 2


def write_study(folder: Path, text: str = STUDY) -> Path:
    path = folder / "study.toml"
    path.write_text(text)
    return path


def start(*arguments: object, **options) -> subprocess.Popen:
    """`replan ARGUMENTS` in a session of its own, so that a signal can be sent to all of it."""
    command = [sys.executable, "-m", "replan.cli", *map(str, arguments)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        **options,
    )


def tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "tables").iterdir())}


class InProcess(LocalEngine):
    """The local engine, but each batch is computed at once and in this process."""

    def __init__(self, *, workers: int | None = None) -> None:
        super().__init__(workers=workers)  # which refuses what the local engine refuses
        self.workers = self.slots = 1
        self._done: dict[int, list] = {}
        self._numbers = count()

    def start(self, function, *arguments):
        done = Future()
        done.set_result(function(*arguments))
        return done

    def submit(self, batch):
        handle = next(self._numbers)
        self._done[handle] = compute_batch(batch)
        return handle

    def wait(self, handles, timeout):
        return [(handle, self._done.pop(handle)) for handle in handles]


def computed(study: Study | dict[str, Any], folder: Path) -> Run:
    """The run of a study in this process, every cell of which must succeed."""
    study = study if isinstance(study, Study) else parse_study({"name": "small", **study})
    report = run_study(study, "", folder, engine=InProcess(), quiet=True)
    assert report.failures == []
    return read_run(folder, samples=True)


def by_setting(run: Run) -> dict[str, dict[str, Record]]:
    """The records of a run by setting and rule, of which each pair has one."""
    found = pivot(run.records, ["setting"], "rule", "parameters")
    return {name: {rule: found.record((name,), rule) for rule in found.columns} for (name,) in found.rows}
