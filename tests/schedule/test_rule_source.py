"""Rules of one's own are found by file or module, and what is wrong with one is said in one line."""

import json
import sys

import pytest

from replan import InputError, load_setting, make_mission, make_rule, regret
from replan.cli import run
from replan.schedule.fixed import FixedTimes
from replan.schedule.periodic import Periodic
from replan.schedule.registry import find_rule
from replan.study.cells import neighbour_files

OWN = """
from __future__ import annotations

from dataclasses import dataclass

from replan import Context, Decision, Rule


@dataclass(frozen=True)
class Every(Rule):
    steps: int = 16

    def decide(self, context: Context) -> Decision:
        return Decision(context.time - context.last_update >= self.steps, f"{self.steps} steps")


@dataclass(frozen=True)
class Needy(Rule):
    steps: int

    def decide(self, context: Context) -> Decision:
        return Decision(True, "always")


@dataclass
class Loose(Rule):
    steps: int = 16

    def decide(self, context: Context) -> Decision:
        return Decision(True, "always")


class Empty(Rule):
    pass


class Other:
    pass
"""

SMALL = """
world = "rover"
n = 4
horizon = 8
planning_horizon = 4
budget = 3
drift = { kind = "linear", slip = 0.05, rate = 0.02 }
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path / "own.py"


def test_a_registered_name(file):
    assert make_rule("periodic") == Periodic()
    assert find_rule("periodic").text is None and find_rule("periodic").digest is None


@pytest.mark.parametrize("name", ["own.py:Every", "own:Every", "package.rules:Every"])
def test_a_file_or_a_module_from_the_working_directory(file, tmp_path, name):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "rules.py").write_text(OWN)
    before = list(sys.path)
    try:
        source = find_rule(name)
        assert (source.text, source.make(steps="12").steps) == (OWN, 12)  # pyright: ignore[reportAttributeAccessIssue]
        mission = make_mission(load_setting("two-burst"))
        assert regret(mission, source.make()) == pytest.approx(regret(mission, FixedTimes((1, 17, 33, 49))))
    finally:
        for module in ("own", "package", "package.rules"):
            sys.modules.pop(module, None)
    assert sys.path == before


def test_the_digest_follows_the_text_and_the_text_may_come_without_the_file(file):
    first = find_rule("own.py:Every")
    file.write_text(OWN.replace("16", "20"))
    second = find_rule("own.py:Every")
    assert first.digest != second.digest
    assert (first.make().steps, second.make().steps) == (16, 20)  # pyright: ignore[reportAttributeAccessIssue]
    file.unlink()
    assert find_rule("own.py:Every", text=OWN).digest == first.digest


def test_a_file_may_import_its_neighbours_which_are_then_known(file, tmp_path):
    text = "import json\nfrom numbers_of_mine import STEPS\nfrom own import Every\n"
    (tmp_path / "numbers_of_mine.py").write_text("STEPS = 3\n")
    (tmp_path / "more.py").write_text(text)
    try:
        source = find_rule("more.py:Every")
        assert source.kind.__name__ == "Every"
    finally:
        for module in ("own", "numbers_of_mine"):
            sys.modules.pop(module, None)
    assert [path.name for path in neighbour_files(source)] == ["numbers_of_mine.py", "own.py"]
    assert neighbour_files(find_rule("own.py:Every")) == []
    assert neighbour_files(find_rule("periodic")) == []


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("nowhere.py:Every", {}, "no such file"),
        ("no.such.module:Every", {}, "No module named"),
        ("own.py:Evry", {}, "did you mean Every?"),
        ("own.py:Other", {}, "is not a rule"),
        ("own.py:Empty", {}, "does not define decide"),
        ("own.py:Loose", {}, "frozen"),
        ("own.py", {}, "file.py:Class"),
        ("own.py:", {}, "file.py:Class"),
        ("own.py:Every:X", {}, "file.py:Class"),
        ("own:Every:X", {}, "file.py:Class"),
        ("own.py:Zzz", {}, "there are Every, Needy, Loose, Empty"),
        ("periodc", {}, "did you mean periodic?"),
        ("own.py:Needy", {}, "'steps'"),
        ("own.py:Every", {"step": "3"}, "did you mean steps?"),
        ("own.py:Every", {"steps": "few"}, "'steps' cannot be 'few': it takes int"),
        ("broken.py:Every", {}, "broken.py, line 2"),
        ("failing.py:Every", {}, "ZeroDivisionError"),
        ("quitting.py:Every", {}, "quitting.py: SystemExit: 5"),
        ("quitting:Every", {}, "quitting: SystemExit: 5"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(file, tmp_path, name, parameters, words):
    (tmp_path / "broken.py").write_text("x = 1\ndef f(:\n")
    (tmp_path / "failing.py").write_text("1 / 0\n")
    (tmp_path / "quitting.py").write_text("raise SystemExit(5)\n")
    with pytest.raises(InputError) as refused:
        find_rule(name).make(**parameters)
    assert words in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("command", ["regret", "schedule", "explain", "certify"])
def test_every_command_takes_a_rule_of_ones_own_and_names_its_source(file, capsys, command):
    file.with_name("small.toml").write_text(SMALL)
    arguments = [command, "small.toml", "--rule", "own.py:Every", "--set", "steps=3", "--json"]
    assert run(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["rule"], answer["parameters"]) == ("every", {"steps": 3})
    assert answer["source"] == "own.py:Every" and answer["source_sha256"] == find_rule("own.py:Every").digest
    assert "validation" not in answer


def test_schedule_says_in_one_line_that_a_rule_fails(file, capsys, recwarn):
    file.with_name("small.toml").write_text(SMALL)
    file.write_text(
        OWN.replace("return Decision(context.time", "raise ValueError('two\\nlines', context.time")
    )
    assert run(["schedule", "small.toml", "--rule", "own.py:Every"]) == 2
    said = capsys.readouterr().err
    assert "the rule failed: ValueError" in said and said.count("\n") == 1
    assert not [each for each in recwarn if "the rule failed" in str(each.message)]
