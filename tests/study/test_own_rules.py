"""Rules of the user's own in study files: they run, travel with their cells, are known by their source."""

import json

import pytest

from page_data import SMALL, data_of
from replan.cli import run
from replan.errors import InputError
from replan.study.cells import entries, require_alone
from replan.study.definition import parse_study
from replan.study.versions import code_version
from replan.study.work import Result, compute

pytestmark = pytest.mark.usefixtures("in_process")

RULE = """
from dataclasses import dataclass
from typing import ClassVar

from replan import Decision, Rule


@dataclass(frozen=True)
class Every(Rule):
    name: ClassVar[str] = "every"
    steps: int = 3

    def decide(self, context):
        return Decision(context.time % self.steps == 0, f"every {self.steps} steps")
"""
STUDY = """
settings = ["small.toml"]
rules = ["periodic", { rule = "mine.py:Every", grid = { steps = [2, 3] } }]
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in (("small.toml", SMALL), ("mine.py", RULE), ("study.toml", STUDY)):
        (tmp_path / name).write_text(text)
    return tmp_path


def cells(folder):
    data = {"name": "own", "settings": ["two-burst"], "rules": ["mine.py:Every"]}
    study = parse_study(data, where=str(folder / "study.toml"))
    return [entry.cell for entry in entries(study, version=code_version())]


def run_study(folder, *more):
    return run(["run", str(folder / "study.toml"), "--out", str(folder / "run"), "--workers", "1", *more])


def test_a_study_with_a_rule_of_ones_own_ends_in_its_tables_and_page(folder, capsys):
    assert run_study(folder, "--json") == 0
    assert json.loads(capsys.readouterr().out)["computed"] == 3
    assert "| setting | periodic | mine.py:Every |" in (folder / "run" / "tables" / "regret.md").read_text()
    view = data_of(folder / "run" / "report.html")["small"]
    assert view["rules"]["mine.py:Every"]["reasons"][1].startswith("every ")
    assert run_study(folder, "--resume", "--json") == 0
    assert json.loads(capsys.readouterr().out)["computed"] == 0


def test_without_the_page_only_tables_are_written(folder, capsys):
    assert run_study(folder, "--no-page", "--json") == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    assert tables and not any(path.endswith(".html") for path in tables)
    assert not (folder / "run" / "report.html").exists()


def test_a_changed_source_is_not_mixed_with_what_was_stored(folder, capsys):
    assert run_study(folder, "--json") == 0
    (folder / "mine.py").write_text(RULE.replace("== 0", "== 1"))
    capsys.readouterr()
    assert run_study(folder, "--resume") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "mine.py:Every has changed" in said and "--out" in said


def test_a_rule_is_known_by_its_source_and_what_it_imports_not_by_its_place(folder, tmp_path):
    (before,) = cells(folder)
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "mine.py").write_text(RULE)
    assert cells(other)[0].identity == before.identity
    (other / "helper.py").write_text("STEPS = 3\n")
    (other / "mine.py").write_text("import helper\n" + RULE)
    with_helper = cells(other)[0].identity
    (other / "helper.py").write_text("STEPS = 4\n")
    assert len({before.identity, with_helper, cells(other)[0].identity}) == 3


def test_the_source_travels_with_the_cell(folder):
    (cell,) = cells(folder)
    (folder / "mine.py").unlink()
    (found,) = compute(cell)
    assert isinstance(found, Result)
    assert json.loads(found.values["times"])[:3] == [1, 3, 6]


def test_a_rule_that_imports_its_neighbours_needs_a_working_directory_on_a_cluster(folder, capsys):
    (folder / "helper.py").write_text("STEPS = 3\n")
    (folder / "mine.py").write_text("import helper\n" + RULE)
    assert run_study(folder, "--engine", "ray") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "imports helper.py" in said and f"--working-dir {folder}" in said
    require_alone(parse_study({"name": "own", "settings": ["two-burst"], "rules": ["periodic"]}))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("absent.py:Every", "no such file"),
        ("mine.py:Ever", "did you mean Every"),
        ("mine.py:Rule", "is not a rule"),
        ({"rule": "mine.py:Every", "set": {"steps": 2.5}}, "steps"),
        ({"rule": "mine.py:Every", "set": {"m": 1}}, "no parameter 'm'"),
    ],
)
def test_a_rule_that_cannot_be_had_is_one_line(folder, rule, said):
    data = {"name": "own", "settings": ["two-burst"], "rules": [rule]}
    with pytest.raises(InputError, match=said):
        parse_study(data, where=str(folder / "study.toml"))
