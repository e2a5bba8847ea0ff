"""The store: all or nothing, never overwritten, and one clear line for whatever is wrong with it."""

import os
import resource
import subprocess
import sys

import duckdb
import numpy as np
import pytest

from replan.errors import InputError
from replan.results.store import FILE, Store
from replan.schedule.rule import Decision
from replan.study.cells import entries, settings_rows
from replan.study.definition import parse_study
from replan.study.work import Failure, Result, outcome_rows

STUDY = parse_study({"name": "small", "settings": ["two-burst"], "rules": ["periodic", "random"]})
ENTRIES = entries(STUDY)
KEYS = [entry.cell.key for entry in ENTRIES]


def result(key, *, samples=3):
    seeds = np.arange(samples)
    decision = Decision(
        True, "due", score=1.5, threshold=1.0, terms={"drift": np.float64(1.5), "lost": np.nan}
    )
    return Result(
        key, 0.1, 0.1, "here:1", {"exact_regret": 0.25}, seeds, seeds * 1.0, seeds * 2.0, ((4, decision),)
    )


def describe(store):
    return store.describe(
        "small",
        "text",
        [entry.row() for entry in ENTRIES],
        settings_rows(ENTRIES),
        engine="fake",
        workers=1,
        versions={"replan": "1"},
    )


def write(store, *outcomes):
    store.write(outcome_rows(outcomes, start=store.start))


@pytest.fixture
def folder(tmp_path):
    """A run with one of its two cells stored."""
    with Store.begin(tmp_path / "run", resume=False) as store:
        assert describe(store) == set()
        write(store, result(KEYS[0]))
    return tmp_path / "run"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_written_can_be_asked_for(folder):
    with Store.open(folder) as store:
        assert store.execute("select cell, exact_regret, sampled_regret from results") == [
            (KEYS[0], 0.25, None)
        ]
        assert store.execute('select seed, "return", regret from samples') == [
            (0, 0, 0),
            (1, 1, 2),
            (2, 2, 4),
        ]
        found = store.execute("select t, updated, score, terms->>'drift', terms->'lost' from decisions")
        assert found == [(4, True, 1.5, "1.5", "null")]
        assert store.execute("select setting, label from cells order by position") == [
            ("two-burst", "periodic"),
            ("two-burst", "random"),
        ]
        assert store.query("select start, stored, missing from starts") == (
            ["start", "stored", "missing"],
            [(1, 0, 2)],
        )


def test_a_run_from_before_rules_were_stored_by_their_registered_name_goes_on(folder):
    with duckdb.connect(str(folder / FILE)) as old:
        old.execute("alter table cells drop column registered_rule")
    with Store.begin(folder, resume=True) as store:
        assert describe(store) == {KEYS[0]}
        named = store.execute("select registered_rule from cells order by position")
        assert named == [("periodic",), ("random",)]


def test_resuming_says_what_is_stored_and_forgets_failures(folder):
    with Store.begin(folder, resume=True) as store:
        assert describe(store) == {KEYS[0]}
        write(store, Failure(KEYS[1], 0.1, "here:1", "no"))
        assert store.failures() == [("two-burst", "random", "no")]
        assert describe(store) == {KEYS[0]}
        assert store.failures() == []


def test_a_result_is_never_stored_twice(folder):
    with Store.begin(folder, resume=True) as store:
        describe(store)
        with pytest.raises(InputError):
            write(store, result(KEYS[1]), result(KEYS[0]))
    with Store.open(folder) as store:
        assert store.execute("select count(*) from results") == [(1,)]
        assert store.execute("select count(*) from samples") == [(3,)]


def test_without_resume_a_run_is_not_touched(folder):
    before = contents(folder)
    with pytest.raises(InputError, match="give --resume"):
        Store.begin(folder, resume=False)
    assert contents(folder) == before


def test_a_store_of_a_newer_version_is_refused_and_not_touched(folder):
    with duckdb.connect(str(folder / FILE)) as connection:
        connection.execute("update meta set value = '99' where key = 'format'")
    before = contents(folder)
    for opening in (lambda: Store.begin(folder, resume=True), lambda: Store.open(folder)):
        with pytest.raises(InputError, match="written by a newer replan"):
            opening()
    assert contents(folder) == before


@pytest.mark.parametrize("damage", ["garbage", "truncated", "header", "empty"])
def test_a_damaged_store_is_refused_and_not_touched(folder, damage):
    path = folder / FILE
    whole = path.read_bytes()
    path.write_bytes(
        {
            "garbage": b"not a database at all" * 1000,
            "truncated": whole[: len(whole) // 2],
            "header": b"\0" * 4096 + whole[4096:],
            "empty": b"",
        }[damage]
    )
    before = contents(folder)
    for use in (lambda: Store.begin(folder, resume=True), lambda: Store.open(folder).query("from samples")):
        with pytest.raises(InputError) as caught:
            use()
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert contents(folder) == before


def test_a_block_gone_bad_is_noticed_where_it_is_read(folder):
    path = folder / FILE
    whole = bytearray(path.read_bytes())
    for k in range(3 * 4096, len(whole), 64):
        whole[k] ^= 0xFF
    path.write_bytes(bytes(whole))
    before = contents(folder)
    with pytest.raises(InputError, match="damaged"):
        Store.begin(folder, resume=True)
    assert contents(folder) == before


def test_a_database_of_something_else_is_refused_and_not_touched(tmp_path):
    with duckdb.connect(str(tmp_path / FILE)) as connection:
        connection.execute("create table mine (x integer)")
    before = contents(tmp_path)
    with pytest.raises(InputError, match="not the store of a run"):
        Store.begin(tmp_path, resume=True)
    assert contents(tmp_path) == before


def test_a_store_ended_before_its_first_transaction_is_begun_anew(tmp_path):
    duckdb.connect(str(tmp_path / FILE)).close()
    with Store.begin(tmp_path, resume=True) as store:
        assert describe(store) == set()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        Store.begin(tmp_path / "file" / "run", resume=False)


@pytest.mark.parametrize("denied", ["mkdir", "open"])
def test_an_unwritable_folder_is_one_line(tmp_path, denied):
    """As a user without rights; the tests themselves may be run by one with all."""
    (tmp_path / "locked").mkdir(mode=0o555)
    os.chmod(tmp_path, 0o755)  # noqa: PTH101
    target = "locked/run" if denied == "mkdir" else "locked"
    code = (
        "import duckdb, os, pathlib\n"
        "from replan.errors import InputError\n"
        "from replan.results.store import Store\n"
        f"os.chdir({str(tmp_path)!r})\n"
        "os.getuid() or os.setuid(65534)\n"
        f"try: Store.begin(pathlib.Path({target!r}), resume=False)\n"
        "except InputError as error: print(error)\n"
    )
    parents = [tmp_path.parent, tmp_path.parent.parent]
    modes = [path.stat().st_mode for path in parents]
    try:
        for path in parents:
            path.chmod(0o755)
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    finally:
        for path, mode in zip(parents, modes, strict=True):
            path.chmod(mode)
    assert "cannot be" in found.stdout, found.stderr
    assert found.stdout.count("\n") == 1
    assert not list((tmp_path / "locked").iterdir())


def test_a_run_that_another_process_writes_is_one_line(folder):
    code = (
        f"import sys, duckdb; c = duckdb.connect({str(folder / FILE)!r}); "
        "print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline() == "open\n"
        with pytest.raises(InputError, match="another process is using it"):
            Store.begin(folder, resume=True)
    finally:
        other.communicate("", timeout=60)


def test_a_full_disk_is_one_line_and_what_was_stored_is_kept(folder):
    """A file that may not grow is to a program what a full disk is: the write fails."""
    whole = (folder / FILE).stat().st_size
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    store = Store.begin(folder, resume=True)
    describe(store)
    resource.setrlimit(resource.RLIMIT_FSIZE, (whole, kept[1]))
    try:
        with pytest.raises(InputError) as caught:
            for _ in range(50):
                write(store, result(KEYS[1], samples=200_000))
        assert "the disk is full or cannot be written" in str(caught.value)
        assert "\n" not in str(caught.value)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
        store.close()
    with Store.begin(folder, resume=True) as store:
        assert describe(store) == {KEYS[0]}
        write(store, result(KEYS[1]))
    with Store.open(folder) as store:
        assert store.execute("select count(*) from results") == [(2,)]
        assert store.execute("select count(*) from samples") == [(6,)]


def test_a_query_cannot_write_or_leave_the_store(folder, tmp_path):
    before = contents(folder)
    for sql in (
        "delete from results",
        f"copy results to '{tmp_path}/x.csv'",
        f"select * from read_csv('{tmp_path}/y.csv')",
        "set enable_external_access = true",
        "selct 1",
    ):
        with Store.open(folder) as store, pytest.raises(InputError) as caught:
            store.query(sql, isolated=True)
        assert "\n" not in str(caught.value)
    assert contents(folder) == before
    assert not (tmp_path / "x.csv").exists()


def test_tables_as_parquet(folder, tmp_path):
    with Store.open(folder) as store:
        files = store.export(tmp_path)
    assert {path.stem for path in files} >= {"cells", "results", "samples", "decisions", "timings", "meta"}
    assert duckdb.sql(f"select count(*) from '{tmp_path}/samples.parquet'").fetchall() == [(3,)]
