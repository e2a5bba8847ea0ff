"""What the command line does about trouble that no command expects."""

import subprocess
import sys

import pytest

from replan import cli
from replan.cli import COMMANDS, run
from replan.commands import Output


def test_a_world_that_does_not_fit_into_memory_is_one_line(monkeypatch, capsys):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr("replan.worlds.settings.make_mission", full)
    assert cli.run(["regret", "two-burst", "--times", "1,17,33,49"]) == 2
    assert capsys.readouterr().err == "replan: there is not enough memory for a world of this size\n"


LOADED = """
import sys
from replan.cli import run
assert run(sys.argv[1:]) == 0
print("loaded", *sys.modules)
"""


def loaded(*arguments):
    command = [sys.executable, "-c", LOADED, *arguments]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return set(out.splitlines()[-1].split())


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_version_and_the_list_of_commands_load_no_command(option):
    assert not loaded(option) & {"numpy", "scipy", "numba", "pydantic", "rich", "replan.commands"}


def test_the_regret_of_given_times_loads_no_rules_studies_or_linear_algebra():
    """Each costs every such command a tenth of a second; the loops are compiled before."""
    regret = ["regret", "two-burst", "--times", "1,17,33,49"]
    assert run(regret) == 0
    found = loaded(*regret)
    assert "replan._loops.compiler" in found
    heavy = {
        "scipy.linalg",
        "numba.np.arraymath",
        "rich",
        "duckdb",
        "replan.study",
        "replan.certificates",
        "replan.schedule.registry",
    }
    assert not found & heavy


def test_nothing_is_printed_after_the_answer():
    """DuckDB prints what the interpreter does not collect at its end."""
    program = "import duckdb; from replan.cli import main; main(['--version'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_takes_json(name, capsys):
    assert run([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: replan {name}") and ("--json" in out or name == "benchmark")


def test_a_person_sees_what_is_being_done_and_a_program_does_not(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    for as_json in (False, True):
        with Output(as_json=as_json).waiting() as doing:
            doing("solving the world")
        shown = capsys.readouterr()
        assert not shown.out and ("solving the world; Ctrl-C stops" in shown.err) == (not as_json)


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


FAULTY_RULE = """
from dataclasses import dataclass
from replan import Rule

@dataclass(frozen=True)
class Faulty(Rule):
    name = "faulty"

    def decide(self, context):
        return {}["nothing"]
"""


@pytest.mark.parametrize("command", ["regret", "explain"])
def test_a_rule_of_the_users_own_that_raises_is_one_line_that_says_where(command, tmp_path, capsys):
    (tmp_path / "faulty.py").write_text(FAULTY_RULE)
    assert cli.run([command, "two-burst", "--rule", f"{tmp_path / 'faulty.py'}:Faulty"]) == 2
    said = capsys.readouterr().err
    assert "faulty.py:10: KeyError: 'nothing'" in said and said.count("\n") == 1


@pytest.mark.filterwarnings("ignore:replan. at time")
@pytest.mark.parametrize("command", [["schedule", "two-burst", "--rule"], ["benchmark"]])
def test_nothing_is_scheduled_or_scored_by_a_rule_that_raises(command, tmp_path, capsys):
    (tmp_path / "faulty.py").write_text(FAULTY_RULE)
    assert cli.run([*command, f"{tmp_path / 'faulty.py'}:Faulty"]) == 2
    found = capsys.readouterr()
    assert not found.out and "faulty" in found.err and "KeyError" in found.err
