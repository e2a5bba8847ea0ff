"""What an engine costs beside the cells themselves, and the store beside a CSV file."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.timing import Row, compare
from replan.results.store import Store
from replan.study.cells import entries, settings_rows
from replan.study.definition import parse_study
from replan.study.engine import Engine, drive, make_engine
from replan.study.work import Result, compute, outcome_rows

CELLS = 200
SAMPLED_CELLS, SEEDS = 100, 1000


def cells(count: int = CELLS):
    study = parse_study(
        {
            "name": "bench",
            "settings": ["two-burst"],
            "rules": [{"rule": "regret-guided", "grid": {"alpha": {"from": 0.0, "to": 1.0, "count": count}}}],
            "measure": ["exact", "sampled"],
            "intervals": False,
            "decisions": False,
        }
    )
    return entries(study)


def engine_overhead(name: str) -> Row:
    """One worker, so that the bare loop in this process is the same work; the engine is warm."""
    engine: Engine = make_engine(name, workers=1)
    wanted = [entry.cell for entry in cells()]

    def driven() -> None:
        assert sum(len(outcomes) for outcomes in drive(engine, wanted)) == CELLS

    try:
        return compare(
            f"{CELLS} cells x {SEEDS} seeds, n = 12, engine {name}, one worker",
            driven,
            "the same cells in a loop",
            lambda: [compute(cell) for cell in wanted],
            repeat=3,
        )
    finally:
        engine.close()


def storing() -> Row:
    """A batch of samples into the store, beside the same rows written as CSV."""
    seeds, numbers = np.arange(SEEDS), np.random.default_rng(0).normal(size=(SAMPLED_CELLS, SEEDS))
    planned = cells(SAMPLED_CELLS)

    def store() -> None:
        with tempfile.TemporaryDirectory() as folder, Store.begin(Path(folder), resume=False) as opened:
            rows = [entry.row() for entry in planned]
            opened.describe("bench", "", rows, settings_rows(planned), engine="none", workers=1, versions={})
            values = {"exact_regret": 1.0}
            results = [
                Result(place.cell.key, 0.0, 0.0, "", values, seeds, row, row, ())
                for place, row in zip(planned, numbers, strict=True)
            ]
            opened.write(outcome_rows(results, start=opened.start))

    def text() -> None:
        with tempfile.TemporaryFile("w+") as file:
            writer = csv.writer(file)
            for place, row in zip(planned, numbers, strict=True):
                writer.writerows((place.cell.key, seed, x, x) for seed, x in zip(seeds, row, strict=True))

    what = f"store {SAMPLED_CELLS} cells x {SEEDS} seeds in one transaction"
    return compare(what, store, "the rows as CSV", text, repeat=3)


def rows() -> list[Row]:
    return [engine_overhead("local"), engine_overhead("ray"), storing()]
