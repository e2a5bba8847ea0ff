"""Whole runs: killed, stopped, resumed, grown, failing in part. What comes out is always the same."""

import csv
import json
import os
import random
import signal
import time
from contextlib import closing, suppress

import numpy as np
import pytest
from joblib.externals.loky import process_executor

from replan.cli import run
from replan.results.store import Store
from replan.study.definition import load_study
from replan.study.local import GROWTH, LocalEngine
from replan.study.runner import run_study
from study_runs import CELLS, LONG_CELLS, LONG_STUDY, SEEDS, STUDY, start, tables, write_study

TIMEOUT = 300
pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, in_process):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run(["run", str(write_study(folder)), "--out", str(folder / "run"), "--no-page", "--json"]) == 0
    return folder / "run"


def stored(folder):
    """Which start computed which cell."""
    try:
        with Store.open(folder) as store:
            rows = store.execute("select cell, start from timings join results using (cell)")
    except ValueError as error:
        assert "holds no run" in str(error) or "not the store" in str(error)
        return {}
    assert len(rows) == len(dict(rows))
    return dict(rows)


def kill_and_resume(folder, kills, *, text=STUDY, cells=CELLS):
    """Kill the driver at random moments, each after it has stored something new, and then let it end.

    Returns how many cells were stored at each kill.
    """
    options = ("--out", folder / "run", "--workers", 1, "--resume", "--no-page")
    arguments = ("run", write_study(folder, text), *options)
    chance, before, counts = random.Random(kills), {}, []
    for _ in range(kills):
        driver = start(*arguments)
        driver.stderr.readline()  # the first line of progress: the run is on its way
        size = bytes_written(folder / "run")
        while bytes_written(folder / "run") == size and driver.poll() is None:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 1))
        driver.kill()
        driver.wait(TIMEOUT)
        after = stored(folder / "run")
        assert before.items() <= after.items()
        before = after
        counts.append(len(after))
    last = start(*arguments, "--json")
    output, _ = last.communicate(timeout=TIMEOUT)
    assert last.returncode == 0
    assert json.loads(output)["computed"] == cells - len(before)
    assert before.items() <= stored(folder / "run").items()
    return counts


def bytes_written(folder):
    """Of the store and its log, which the driver may remove at any moment."""
    found = 0
    for path in folder.glob("store.duckdb*"):
        with suppress(FileNotFoundError):
            found += path.stat().st_size
    return found


def test_a_driver_killed_three_times_gives_the_same_tables(tmp_path, undisturbed):
    counts = kill_and_resume(tmp_path, 3)
    assert 0 < counts[0] < CELLS
    assert tables(tmp_path / "run") == tables(undisturbed)


@pytest.mark.slow
def test_a_driver_killed_ten_times_gives_the_same_tables(tmp_path):
    counts = kill_and_resume(tmp_path, 10, text=LONG_STUDY, cells=LONG_CELLS)
    assert len(set(counts)) > 3
    study, out = str(tmp_path / "study.toml"), str(tmp_path / "undisturbed")
    assert run(["run", study, "--out", out, "--workers", "2", "--json"]) == 0
    assert tables(tmp_path / "run") == tables(tmp_path / "undisturbed")


def test_workers_do_not_outlive_a_killed_driver(tmp_path):
    driver = start("run", write_study(tmp_path), "--out", tmp_path / "run", "--workers", 2)
    driver.stderr.readline()
    deadline = time.monotonic() + TIMEOUT
    while len(session(driver.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait(TIMEOUT)
    while session(driver.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert session(driver.pid) == []


def session(leader):
    """The processes of a session that are alive."""
    found = []
    for entry in os.listdir("/proc"):  # noqa: PTH208
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:  # noqa: PTH123
                    state, _, _, of = file.read().rpartition(")")[2].split()[:4]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(of) == leader and state != "Z":
                found.append(int(entry))
    return found


def test_workers_are_not_replaced_for_memory_that_they_keep_to_use_again():
    assert process_executor._MAX_MEMORY_LEAK_SIZE < GROWTH  # the name is joblib's own
    with closing(LocalEngine(workers=1)) as engine:
        found = engine.start(getattr, process_executor, "_MAX_MEMORY_LEAK_SIZE")
        assert found.result(TIMEOUT) == GROWTH


class Sabotaged(LocalEngine):
    """Loses a worker to kill -9 as soon as the first batch is done."""

    killed = None

    def wait(self, handles, timeout):
        found = super().wait(handles, timeout)
        if found and self.killed is None:
            self.killed = next(iter(self._pool._processes))
            os.kill(self.killed, signal.SIGKILL)
        return found


def test_a_run_survives_a_killed_worker(tmp_path, undisturbed):
    study, text = load_study(write_study(tmp_path))
    engine = Sabotaged(workers=2)
    with closing(engine):
        report = run_study(study, text, tmp_path / "run", engine=engine, quiet=True)
    assert engine.killed is not None
    assert (report.computed, report.failed, report.missing) == (CELLS, 0, 0)
    arguments = ["run", str(tmp_path / "study.toml"), "--out", str(tmp_path / "run"), "--resume", "--no-page"]
    assert run(arguments) == 0
    assert tables(tmp_path / "run") == tables(undisturbed)


def test_ctrl_c_stops_cleanly_and_says_how_to_resume(tmp_path):
    driver = start("run", write_study(tmp_path), "--out", tmp_path / "run", "--workers", 2)
    driver.stderr.readline()
    os.killpg(driver.pid, signal.SIGINT)
    output, errors = driver.communicate(timeout=TIMEOUT)
    assert driver.returncode == 130
    assert f"go on with: replan run {tmp_path / 'study.toml'} --out {tmp_path / 'run'} --resume" in output
    assert "Traceback" not in errors
    with Store.open(tmp_path / "run") as store:
        done = store.execute("select count(*) from results")[0][0]
    assert f"{CELLS - done} cells to go" in output


def test_an_engine_that_cannot_be_had_leaves_no_store_behind(tmp_path):
    text = 'settings = [{ base = "two-burst", vary = { n = [3] } }]\nrules = ["periodic"]\n'
    arguments = ["run", str(write_study(tmp_path, text)), "--out", str(tmp_path / "run"), "--json"]
    for wrong in (("--engine", "slurm"), ("--address", "here:1"), ("--workers", "0")):
        assert run([*arguments, *wrong]) == 2
        assert not (tmp_path / "run").exists()
    assert run([*arguments, "--workers", "1"]) == 0


def test_resuming_a_finished_run_computes_nothing(undisturbed, capsys):
    study = undisturbed.parent / "study.toml"
    before = tables(undisturbed)
    assert run(["run", str(study), "--out", str(undisturbed), "--resume", "--no-page", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["computed"], answer["stored_before"]) == (0, CELLS)
    assert tables(undisturbed) == before


def test_a_study_that_has_grown_computes_what_is_new(tmp_path, capsys):
    small = 'settings = [{ base = "two-burst", vary = { n = [3] } }]\nrules = ["periodic"{}]\n'
    arguments = [
        "run",
        str(tmp_path / "study.toml"),
        "--out",
        str(tmp_path / "run"),
        "--workers",
        "1",
        "--json",
    ]
    write_study(tmp_path, small.replace("{}", ""))
    assert run(arguments) == 0
    write_study(tmp_path, small.replace("{}", ', "front-loaded"'))
    assert run(arguments) == 2
    assert run([*arguments, "--resume"]) == 0
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (answer["computed"], answer["stored_before"]) == (1, 1)
    assert len((tmp_path / "run" / "tables" / "cells.csv").read_text().splitlines()) == 3


def broken_world(folder):
    """A world whose rewards are no numbers: planning on it has no best action."""
    np.savez(folder / "bad.npz", kernels=np.full((3, 2, 3), 1 / 3), rewards=np.full((3, 2), np.nan))
    (folder / "bad.toml").write_text(
        'world = "arrays"\nfile = "bad.npz"\nhorizon = 5\nplanning_horizon = 2\nbudget = 2\n'
    )


def test_cells_that_fail_are_listed_and_the_others_complete(tmp_path, capsys):
    broken_world(tmp_path)
    text = """
        settings = ["bad.toml", { base = "two-burst", vary = { n = [3], budget = [2, 50] } }]
        rules = ["periodic", "front-loaded"]
    """
    arguments = ["run", str(write_study(tmp_path, text)), "--out", str(tmp_path / "run"), "--workers", "1"]
    assert run(arguments) == 1
    shown = capsys.readouterr().out
    assert "6 cells: 2 computed" in shown
    assert "4 failed" in shown
    (said,) = [
        line for line in shown.splitlines() if line.startswith("failed: periodic on bad: InputError: ")
    ]
    assert "reward is not a number" in said
    assert "failed: front-loaded on two-burst n=3 budget=50: InputError: budget must lie between" in shown
    markdown = (tmp_path / "run" / "tables" / "regret.md").read_text()
    assert "| bad | failed | failed |" in markdown
    assert run([*arguments, "--resume", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["computed"], answer["stored_before"], answer["failed"]) == (0, 2, 4)
    assert [failure["setting"] for failure in answer["failures"][:2]] == ["bad", "bad"]


def test_results_and_export_speak_to_the_store(undisturbed, tmp_path, capsys):
    assert run(["results", str(undisturbed), "select count(*) as n from samples", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"columns": ["n"], "rows": [[CELLS * SEEDS]]}
    assert run(["results", str(undisturbed)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == CELLS + 1
    assert lines[1].startswith("two-burst n=4 horizon=30 budget=2  periodic")
    assert run(["results", str(undisturbed), "drop table cells"]) == 2
    assert run(["results", str(tmp_path)]) == 2
    assert run(["export", str(undisturbed), "--out", str(tmp_path / "out"), "--json"]) == 0
    capsys.readouterr()
    assert (tmp_path / "out" / "results.parquet").exists()
    assert run(["export", str(undisturbed), "--format", "odd"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "--format" in said


def test_the_tables_hold_what_the_store_holds(undisturbed):
    with (undisturbed / "tables" / "cells.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == CELLS
    with Store.open(undisturbed) as store:
        ((regret,),) = store.execute(
            "select avg(s.regret) from samples s join cells using (cell) "
            "where setting = 'two-burst n=4 horizon=30 budget=2' and label = 'random' and execution = 'map'"
        )
    assert [rows[1][name] for name in ("setting", "rule", "execution")] == [
        "two-burst n=4 horizon=30 budget=2",
        "random",
        "map",
    ]
    assert float(rows[1]["sampled_regret"]) == pytest.approx(regret)
