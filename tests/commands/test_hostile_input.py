"""Input that once ended in a traceback is one line and exit status 2."""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from replan.cli import run
from replan.errors import InputError
from replan.model import sizes as machine
from replan.model.sizes import memory_bytes, require_memory

FULL = Path("/dev/full")
ROVER = """world = "rover"
n = {n}
horizon = {horizon}
planning_horizon = 3
budget = 2
[drift]
kind = "linear"
slip = 0.1
rate = 0.001
"""


def refused(capsys, *arguments):
    assert run([str(each) for each in arguments]) == 2
    line = capsys.readouterr().err
    assert line.startswith("replan: ") and line.count("\n") == 1 and len(line) < 600
    return line


@pytest.fixture
def setting(tmp_path):
    def write(text):
        path = tmp_path / "setting.toml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("text", ["a = " + "[" * 5000 + "]" * 5000, "n = " + "9" * 5000, "\x00", "a = "])
def test_toml_that_cannot_be_read(capsys, setting, text):
    assert "not valid TOML" in refused(capsys, "regret", setting(text), "--rule", "periodic")


def test_names_that_no_file_can_have(capsys):
    for name in ("x" * 300, "x" * 300 + ".toml", "a\x00b.toml"):
        refused(capsys, "regret", name, "--rule", "periodic")


def test_more_rollouts_than_can_be_counted(capsys):
    assert "--rollouts" in refused(capsys, "regret", "two-burst", "--rule", "periodic", "--rollouts", 10**20)


@pytest.mark.parametrize(("n", "horizon"), [(2000, 1000), (300, 1_000_000)])
def test_a_world_that_does_not_fit_into_memory_is_refused_before_it_is_computed(capsys, setting, n, horizon):
    """A busy machine may say first that it is at it."""
    assert run(["regret", str(setting(ROVER.format(n=n, horizon=horizon))), "--rule", "periodic"]) == 2
    *waiting, line = capsys.readouterr().err.splitlines()
    assert all(each.endswith("Ctrl-C stops") for each in waiting)
    assert line.startswith("replan: ") and "memory" in line and "GB" in line


ARRAYS = 'world = "arrays"\nfile = "world.npz"\nhorizon = 5\nplanning_horizon = 2\nbudget = 1\n'


def test_more_memory_than_the_machine_has_is_refused():
    require_memory(1, "a number")
    with pytest.raises(InputError, match="needs about"):
        require_memory(memory_bytes(), "eight times the memory")


def test_an_archive_that_unpacks_to_more_than_there_is(capsys, setting, tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "world.npz", rewards=np.zeros(10**6))
    monkeypatch.setattr(machine, "memory_bytes", lambda: 1e6)
    assert "16 MB" in refused(capsys, "regret", setting(ARRAYS), "--rule", "periodic")


def test_an_archive_whose_member_is_no_array(capsys, setting, tmp_path):
    with zipfile.ZipFile(tmp_path / "world.npz", "w") as archive:
        archive.writestr("rewards.npy", b"")
    assert "no array" in refused(capsys, "regret", setting(ARRAYS), "--rule", "periodic")


def test_rewards_whose_sum_is_no_number(capsys, setting, tmp_path):
    np.savez(tmp_path / "world.npz", kernels=np.eye(2)[:, None, :], rewards=np.array([1e308, 0.0]))
    assert "1e+308" in refused(capsys, "regret", setting(ARRAYS), "--rule", "periodic")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no full device")
def test_output_to_a_full_device_is_one_line():
    command = [sys.executable, "-m", "replan", "list", "settings"]
    with FULL.open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "No space left" in done.stderr


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ("-1", "must be a whole number of at least 0"),
        ("1.5", "must be a whole number of at least 0"),
        ("", "must be a whole number of at least 0"),
        ("1:0.5,3:0.6", "the probabilities add up to 1.1, not 1"),
        ("1:0.5,1:0.5", "the probability of 1 is given twice"),
        ("1:-0.5,3:1.5", "the probability of 1 is -0.5, not 0 to 1"),
        ("1:nan,3:1", "the probability of 1 is nan, not 0 to 1"),
        ("1:0.5,,3:0.5", "'' is not a whole number"),
        ("17", "budget 4 does not fit: updates of 17 steps leave room for 3 in 50 steps"),
    ],
)
def test_steps_of_an_update_that_cannot_be(capsys, steps, fault):
    assert fault in refused(capsys, "regret", "two-burst", "--rule", "periodic", "--update-steps", steps)


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ('"2"', "'update_steps' must be a whole number of at least 0, or {steps: probability}, not '2'"),
        ("1.5", "'update_steps' must be a whole number of at least 0, or {steps: probability}, not 1.5"),
        ("{}", "'update_steps': the probabilities add up to 0, not 1"),
        ("{ 1 = nan, 2 = 0.5 }", "'update_steps': the probability of 1 is nan, not 0 to 1"),
        ("{ 1 = true }", "'update_steps': the probability of 1 is True, not 0 to 1"),
        ('{ 1 = "0.5", 2 = 0.5 }', "'update_steps': the probability of 1 is '0.5', not 0 to 1"),
    ],
)
def test_steps_of_an_update_in_a_file_that_cannot_be(capsys, tmp_path, steps, fault):
    setting, study = tmp_path / "setting.toml", tmp_path / "study.toml"
    setting.write_text(f"update_steps = {steps}\n{ROVER.format(n=4, horizon=10)}")
    study.write_text(f'settings = ["two-burst"]\nrules = ["even"]\nupdate_steps = [{steps}]')
    assert fault in refused(capsys, "regret", setting, "--rule", "periodic")
    assert fault in refused(capsys, "run", study)


def test_updates_that_never_arrive(capsys):
    asked = "thin-ice-medium", "--rule", "last-moment", "--execution", "localised", "--update-steps", 40
    assert "updates of 40 steps never arrive in 40 steps" in refused(capsys, "regret", *asked)
    asked = "two-burst", "--rule", "periodic", "--most", 1, "--by-steps"
    assert "never arrive" in refused(capsys, "budget", *asked, "0,50")
    for steps in ("", "a", "1:0.5,3:0.5", "1.5"):
        assert "--by-steps takes whole numbers" in refused(capsys, "budget", *asked, steps)


def test_updates_that_fit_into_no_world_of_the_suite(capsys):
    line = refused(capsys, "benchmark", "periodic", "--update-steps", 60)
    assert "no drawn world of the suite has room for updates of 60 steps" in line


@pytest.mark.parametrize("name", ["run.mcap", "updates.csv"])
def test_a_file_that_cannot_be_written_is_named(capsys, tmp_path, name):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / name
    assert f"{path}: cannot be written" in refused(
        capsys, "schedule", "two-burst", "--rule", "periodic", "--out", path
    )


@pytest.mark.parametrize("form", ["csv", "pdf"])
def test_nothing_is_made_where_there_is_no_run_to_export(capsys, tmp_path, form):
    assert "holds no run" in refused(capsys, "export", tmp_path / "missing", "--format", form)
    assert not list(tmp_path.iterdir())


def test_compare_asks_for_its_folder_before_it_computes(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    asked = "compare", "periodic", "--settings", "two-burst", "--out", tmp_path / "file" / "page"
    assert f"cannot write to {tmp_path}" in refused(capsys, *asked)
