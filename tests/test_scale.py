"""`make bench-scale`: what a study of many cells takes, whole or stopped."""

import pytest
from benchmarks.scale import definition, measure, row

from replan.study.runner import RunSummary

CASE = {
    "workers": 2,
    "wall": 11.0,
    "until_first": 1.0,
    "computing": 16.0,
    "computing_cpu": 8.0,
    "driver_cpu": 0.5,
    "driver_memory": 200.0,
    "store": 3.0,
}


@pytest.mark.parametrize(
    ("of", "cells", "shown"), [(500, 500, "| 500 |"), (1000, 500, "| 500 of 1000, stopped |")]
)
def test_a_stopped_study_is_told_by_the_cells_that_it_finished(of, cells, shown):
    line = row("local", {**CASE, "cells": cells, "of": of})
    assert shown in line
    assert line.endswith("| 11.0 s | 1.0 s | 16.00 ms | 1.00 ms | 4.00 ms | 200 MB | 3 MB |")


def test_a_study_that_fails_is_not_told_as_a_measurement(monkeypatch):
    failed = RunSummary("run", 16, 0, 15, 1, [("two-burst", "periodic", "no")], stopped=False, seconds=1.0)
    monkeypatch.setattr("replan.study.runner.run_study", lambda *_, **__: failed)
    with pytest.raises(AssertionError, match="failed=1"):
        measure(16, 1, "local")


def test_the_study_has_the_cells_that_are_asked_for(tmp_path):
    from replan.study.cells import entries
    from replan.study.definition import load_study

    (tmp_path / "scale.toml").write_text(definition(80))
    study, _ = load_study(tmp_path / "scale.toml")
    assert len(entries(study, version="1")) == 80
    assert study.blocks[0].seeds.count == 1000
