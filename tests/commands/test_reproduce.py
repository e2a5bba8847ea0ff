"""`replan reproduce`: its files, its page, and how it goes on in a folder that holds something already."""

import json
import os
import signal
from contextlib import nullcontext
from functools import partial

import pytest

from full_disk import full_disk
from replan.cli import run
from replan.commands import Output
from replan.results.run import read_run
from replan.results.store import FILE
from replan.study import definition
from replan.study.definition import load_study
from study_runs import start

TIMEOUT = 300


@pytest.fixture(scope="module", autouse=True)
def one_setting(in_process):
    """The studies of one setting in place of eight, which tests of the paper's tables compute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(definition, "load_study", partial(load_study, settings=["two-burst"]))
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory, one_setting):
    """The folder of `replan reproduce table1`."""
    folder = tmp_path_factory.mktemp("results")
    assert run(["reproduce", "table1", "--out", str(folder), "--json"]) == 0
    return folder


def reproduce(folder, capsys, part="table1"):
    status = run(["reproduce", part, "--out", str(folder), "--json"])
    captured = capsys.readouterr()
    return status, json.loads(captured.out or "null"), captured.err


def test_the_same_command_goes_on_from_the_store(results, capsys):
    before = {path.name: path.read_bytes() for path in results.iterdir() if path.is_file()}
    status, answer, errors = reproduce(results, capsys)
    assert (status, errors) == (0, "")
    assert answer["files"] == sorted(before) and "report.html" in before
    assert {path.name: path.read_bytes() for path in results.iterdir() if path.is_file()} == before
    assert answer["records"] == json.loads(json.dumps(read_run(results / "runs" / "table1").records))
    assert run(["results", str(results / "runs" / "table1"), "select max(start) from timings", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [[1]]


def test_a_store_that_cannot_be_read_is_left_out_of_the_page_with_one_line(results, capsys):
    broken = results / "runs" / "table3" / FILE
    broken.parent.mkdir()
    broken.write_text("no store")
    try:
        status, _, errors = reproduce(results, capsys, "table2")
    finally:
        broken.unlink()
    assert status == 0
    assert errors.count("\n") == 1 and str(broken) in errors and "left out of the page" in errors


def test_a_full_disk_is_one_line_and_leaves_the_page_before(results, capsys):
    before = (results / "report.html").read_bytes()
    with full_disk(1_000_000):
        status, _, errors = reproduce(results, capsys)
    assert status == 2
    assert errors.endswith("report.html: cannot be written (File too large)\n")
    assert (results / "report.html").read_bytes() == before


def test_a_figure_that_cannot_be_written_is_one_line_too(results, capsys):
    (results / "update-timing.png").mkdir()
    try:
        status, _, errors = reproduce(results, capsys, "figures")
    finally:
        (results / "update-timing.png").rmdir()
    assert status == 2
    assert errors.count("\n") == 1 and f"{results}: cannot be written" in errors


def test_the_figure_of_certificates_is_drawn(tmp_path, capsys, monkeypatch):
    one = [{"base": "two-burst", "vary": {"budget": [4]}}]
    monkeypatch.setattr(definition, "load_study", partial(load_study, settings=one))
    status, found, errors = reproduce(tmp_path, capsys, "certificates")
    assert (status, errors) == (0, "")
    files = [f"certificates.{kind}" for kind in ("csv", "md", "png", "svg", "tex")]
    assert found["files"] == [*files, "report.html"]
    (point,) = found["records"]
    regret, bounds = point["exact_regret"], point["certificate"]
    assert regret == pytest.approx(0.7715, abs=1e-4)
    assert regret <= bounds["certificate"] <= bounds["in_advance"] <= bounds["boxes"] < bounds["theorem"]


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path):
    driver = start("reproduce", "table1", "--out", tmp_path, "--workers", 1)
    driver.stderr.readline()
    os.killpg(driver.pid, signal.SIGINT)
    _, errors = driver.communicate(timeout=TIMEOUT)
    assert driver.returncode == 130
    assert "the same command goes on from there" in errors and "Traceback" not in errors
    assert (tmp_path / "runs" / "table1" / FILE).exists()


@pytest.mark.parametrize(
    "wrong",
    [["table4"], ["table1", "--search", "all"], ["learning", "--seeds", "1"], ["table1", "--workers", "0"],
     ["table3", "--layouts", "0"], ["table3", "--seed", "-1"]],
)  # fmt: skip
def test_a_wrong_option_is_one_line(wrong, tmp_path, capsys):
    assert run(["reproduce", *wrong, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_it_says_which_setting_of_the_page_is_being_drawn(results, monkeypatch):
    said = []
    monkeypatch.setattr(Output, "waiting", lambda output: nullcontext(said.append))
    assert run(["reproduce", "table1", "--out", str(results), "--json"]) == 0
    assert said == ["writing tables and figures", "drawing two-burst, 1 of 1 settings"]
