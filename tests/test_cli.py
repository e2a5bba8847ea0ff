"""What the command line does about trouble that no command expects."""

import subprocess
import sys

import pytest

from replan import cli


def test_a_world_that_does_not_fit_into_memory_is_one_line(monkeypatch, capsys):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr("replan.worlds.settings.make_mission", full)
    assert cli.run(["regret", "two-burst", "--times", "1,17,33,49"]) == 2
    assert capsys.readouterr().err == "replan: there is not enough memory for a world of this size\n"


@pytest.mark.parametrize("seed", ["99999999999999999999", "-1"])
def test_a_seed_out_of_range_is_one_line(seed, capsys):
    assert cli.run(["regret", "two-burst", "--times", "1,17,33,49", "--seed", seed]) == 2
    said = capsys.readouterr().err
    assert "--seed" in said and "should be" in said and said.count("\n") == 1


def test_standard_output_that_is_full_is_one_line():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [sys.executable, "-m", "replan.cli", "list", "rules"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "No space left on device" in done.stderr
