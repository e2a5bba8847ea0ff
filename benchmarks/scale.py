"""`make bench-scale`: how a study's time grows with its size and with workers, and what the driver needs.

Every case is a study of its own in a process of its own. Cells are regret-guided rules on two-burst (n = 12),
each measured exactly and on 1000 seeds. `--full` adds the study of 10,000 cells.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks.timing import peak_megabytes

SETTINGS = 8
SEEDS = 1000


def definition(cells: int) -> str:
    points = cells // SETTINGS
    return f"""
        settings = [{{ base = "two-burst", vary = {{ budget = {{ from = 2, to = {SETTINGS + 1} }} }} }}]
        measure = ["exact", "sampled"]
        seeds = {{ count = {SEEDS} }}
        intervals = false
        decisions = false
        [[rules]]
        rule = "regret-guided"
        set = {{ m = 3, diameter = 0.5 }}
        grid = {{ alpha = {{ from = 0.0, to = 1.0, count = {points} }} }}
    """


def measure(cells: int, workers: int, engine: str) -> dict[str, float]:
    """Run one study here and say what it took, also where Ctrl-C or SIGTERM stopped it."""
    from replan.results.store import Store
    from replan.study.definition import load_study
    from replan.study.engine import make_engine
    from replan.study.runner import run_study

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scale.toml"
        path.write_text(definition(cells))
        study, text = load_study(path)
        began, cpu = time.perf_counter(), time.process_time()
        with closing(make_engine(engine, workers=workers)) as made:
            report = run_study(study, text, Path(folder) / "run", engine=made, quiet=True)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        assert report.computed and not report.failed, report
        with Store.open(Path(folder) / "run") as store:
            ((computing, computing_cpu, samples),) = store.execute(
                "select sum(seconds), sum(cpu_seconds), (select count(*) from samples) from timings"
            )
            ((first,),) = store.execute(
                "select date_diff('millisecond', any_value(began), min(finished)) / 1000 from timings, starts"
            )
            size = store.path.stat().st_size
    return {
        "cells": report.computed,
        "of": cells,
        "workers": workers,
        "wall": wall,
        "computing": computing,
        "computing_cpu": computing_cpu,
        "until_first": first,
        "driver_cpu": cpu,
        "driver_memory": peak_megabytes(),
        "samples": samples,
        "store": size / 2**20,
    }


def row(engine: str, case: dict[str, float]) -> str:
    cells, workers = case["cells"], case["workers"]
    done = str(cells) if cells == case["of"] else f"{cells} of {case['of']}, stopped"
    steady = max(case["wall"] - case["until_first"], 1e-9)
    return (
        f"| {engine} | {workers} | {done} | {case['wall']:.1f} s | {case['until_first']:.1f} s | "
        f"{1e3 * case['computing_cpu'] / cells:.2f} ms | {1e3 * case['driver_cpu'] / cells:.2f} ms | "
        f"{1e3 * (steady - case['computing'] / workers) / cells:.2f} ms | {case['driver_memory']:.0f} MB | "
        f"{case['store']:.0f} MB |"
    )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        cells, workers, engine = sys.argv[2:5]
        print(json.dumps(measure(int(cells), int(workers), engine)))
        return
    cases = [(80, 1, "local"), (400, 1, "local"), (400, 2, "local"), (2000, 2, "local"), (400, 2, "ray")]
    if "--full" in sys.argv:
        cases.append((10_000, 2, "local"))
    print("| engine | workers | cells | wall | until the first result | computing (CPU), per cell | "
          "driver's CPU, per cell | wall beyond computing, per cell | driver's memory | store |")  # fmt: skip
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for cells, workers, engine in cases:
        command = [sys.executable, "-m", "benchmarks.scale", "--one", str(cells), str(workers), engine]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        print(row(engine, json.loads(answer.splitlines()[-1])), flush=True)


if __name__ == "__main__":
    main()
