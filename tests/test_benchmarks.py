"""`make bench`: the speed page's table is that of every topic, or it is left alone."""

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import __main__ as bench
from benchmarks.past_schedules import Intervals, schedules

from replan import Mission, Robot, Spending
from replan.evaluation.exact import evaluate_times
from tiny_worlds import random_world

ROWS = {
    "planning": [{"what": "a plan", "ours_seconds": 0.002, "peer": "theirs", "peer_seconds": 0.01}],
    "running": [
        {"what": "a run", "ours_seconds": 0.5, "peer": "theirs", "peer_seconds": 2.0},
        {"what": "alone", "ours_seconds": 0.1, "peer": None, "peer_seconds": None},
    ],
}


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A page of its own, and two topics that take no time."""
    path = tmp_path / "speed.md"
    path.write_text(f"before\n{bench.BEGIN}\nold\n{bench.END}\nafter\n")
    monkeypatch.setattr(bench, "SPEED_PAGE", path)
    monkeypatch.setattr(bench, "topics", lambda: list(ROWS))
    for topic, rows in ROWS.items():
        monkeypatch.setitem(sys.modules, f"benchmarks.{topic}", SimpleNamespace(rows=lambda rows=rows: rows))
    return path


def test_every_benchmark_can_be_imported():
    for path in Path(bench.__file__).parent.glob("[!_]*.py"):
        import_module(f"benchmarks.{path.stem}")


def test_every_name_that_one_benchmark_imports_of_another_exists():
    for path in Path(bench.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchmarks."):
                missing = [
                    each.name for each in node.names if not hasattr(import_module(node.module), each.name)
                ]
                assert not missing, f"{path.name} imports {missing} from {node.module}"


def test_every_topic_has_rows():
    assert {"core", "estimate", "explore", "general_kernels", "lookahead", "study"} <= set(bench.topics())
    for topic in bench.topics():
        assert callable(import_module(f"benchmarks.{topic}").rows)


def test_the_page_gets_the_rows_of_every_topic_that_have_a_peer(page):
    bench.main(["--write"])
    assert page.read_text().splitlines() == [
        "before",
        bench.BEGIN,
        "| what | replan | peer | peer's time | ratio |",
        "|---|---:|---|---:|---:|",
        "| a plan | 2 ms | theirs | 10 ms | 5.0x |",
        "| a run | 500 ms | theirs | 2 s | 4.0x |",
        bench.END,
        "after",
    ]


def test_the_page_is_not_written_for_some_topics_only(page):
    before = page.read_text()
    with pytest.raises(SystemExit, match="--write writes the table of all topics"):
        bench.main(["--write", "planning"])
    assert page.read_text() == before


def test_a_topic_can_be_run_alone(page, capsys):
    before = page.read_text()
    bench.main(["running"])
    shown = capsys.readouterr().out
    assert "| alone | 100 ms |  |  |  |" in shown
    assert "a plan" not in shown
    assert page.read_text() == before


def test_an_unknown_topic_is_one_line(page):
    with pytest.raises(SystemExit, match="unknown topic 'walking': planning, running"):
        bench.main(["walking"])


@pytest.mark.parametrize("budget", [2, 3, 4])
def test_schedules_of_past_schedules_have_the_returns_of_exact_evaluation(budget):
    world = random_world(np.random.default_rng(budget), horizon=7)
    robot = Robot(planning_horizon=3, execution="belief")
    mission = Mission(world, robot, Spending.exactly(budget))
    listed = schedules(7, budget)
    expected = [evaluate_times(mission, times).expected_return for times in listed]
    np.testing.assert_allclose(Intervals.of(mission).returns(world.start, budget), expected, atol=1e-9)
