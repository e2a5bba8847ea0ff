"""Rules of the user's own in study files: they run, travel with their cells, are known by their source."""

import json
import sys
from hashlib import sha256

import pytest

from page_data import SMALL, data_of
from replan.cli import run
from replan.errors import InputError
from replan.schedule.registry import find_rule
from replan.study.cells import entries, require_alone, source_digest
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


@pytest.fixture
def package(folder, monkeypatch):
    """A package in the working directory, whose modules are forgotten afterwards."""
    monkeypatch.chdir(folder)
    (folder / "pk2" / "sub").mkdir(parents=True)
    yield folder / "pk2"
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pk2", "near", "deep")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("rule", "line", "changed"),
    [
        ("pk2.mod", "from pk2.helper import N", "pk2/helper.py"),
        ("pk2.mod", "from .helper import N", "pk2/helper.py"),
        ("pk2.sub.mod", "from ..helper import N", "pk2/helper.py"),
        ("mine.py", "from near import N", "deep.py"),
    ],
)
def test_a_run_is_not_resumed_where_a_file_that_its_rule_leads_to_has_changed(
    folder, package, capsys, rule, line, changed
):
    file = folder / (rule if rule == "mine.py" else f"{rule.replace('.', '/')}.py")
    file.write_text(f"{line}\n{RULE}")
    (folder / "near.py").write_text("from deep import N\n")
    (folder / changed).write_text("N = 3\n")
    (folder / "study.toml").write_text(f'settings = ["small.toml"]\nrules = ["{rule}:Every"]\n')
    assert run_study(folder, "--no-page") == 0
    assert capsys.readouterr().out.startswith("1 cell: 1 computed")
    assert run_study(folder, "--no-page", "--resume") == 0
    assert "1 were stored before" in capsys.readouterr().out
    (folder / changed).write_text("N = 4\n")
    assert run_study(folder, "--no-page", "--resume") == 2
    said = capsys.readouterr().err
    assert f"{rule}:Every has changed" in said and said.count("\n") == 1


@pytest.mark.parametrize("rule", ["mine.py:Every", "pk2.mod:Every"])
def test_the_hash_of_a_rule_that_imports_nothing_around_it_is_that_of_its_file(package, rule):
    for name in ("__init__.py", "mod.py", "unused.py"):
        (package / name).write_text(RULE)
    assert source_digest(find_rule(rule)) == sha256(RULE.encode()).hexdigest()


def test_a_module_is_looked_for_on_the_cluster_itself(package):
    (package / "helper.py").write_text("N = 3\n")
    (package / "mod.py").write_text(f"from .helper import N\n{RULE}")
    require_alone(parse_study({"name": "own", "settings": ["two-burst"], "rules": ["pk2.mod:Every"]}))


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
        ({"rule": "mine.py:Every", "tune": True}, "mine.py:Every has no candidates for tune.* in grid"),
    ],
)
def test_a_rule_that_cannot_be_had_is_one_line(folder, rule, said):
    data = {"name": "own", "settings": ["two-burst"], "rules": [rule]}
    with pytest.raises(InputError, match=said):
        parse_study(data, where=str(folder / "study.toml"))
