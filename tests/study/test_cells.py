"""A cell's identity: changed by all that determines it, and by nothing else."""

from dataclasses import fields, replace

import numpy as np
import pytest

import replan
from replan.study import versions
from replan.study.cells import Cell, entries
from replan.study.definition import parse_study
from replan.study.measures import Exact, Sampled

CELL = Cell(
    version="1",
    setting='{"n":3}',
    files=(),
    execution="map",
    estimator="true-kernel",
    rule="periodic",
    given="{}",
    search=None,
    measure=(Exact,),
    seeds=(0, 10),
    intervals=False,
    decisions=False,
    stated_bounds="right",
)
OTHER = {
    "version": "2",
    "setting": '{"n":4}',
    "files": (("w.npz", "abc"),),
    "execution": "belief",
    "estimator": "pooled",
    "rule": "random",
    "given": '{"seed":1}',
    "search": "paper",
    "measure": (Sampled,),
    "seeds": (1, 10),
    "intervals": True,
    "decisions": True,
    "stated_bounds": "shifted",
    "forecast": "given",
    "latency": "4 steps, go-on",
    "digest": "abc",
}


def test_identity_depends_on_every_field():
    assert {*OTHER, "source"} == {
        field.name for field in fields(Cell) if field.compare
    }  # the source by its digest
    found = {replace(CELL, **{name: value}).identity for name, value in OTHER.items()}
    assert len(found | {CELL.identity}) == len(OTHER) + 1


def test_the_hash_is_the_same_on_every_machine_and_day():
    assert CELL.identity == "881a18dbaac1ee2826ce676bc4df1131076603a8d1b5e3d316b5a60e86983ba9"
    assert CELL.key == int(CELL.identity[:15], 16)


def test_names_do_not_enter():
    def study(name, label):
        data = {"name": name, "settings": [{"base": "two-burst", "name": label}], "rules": ["periodic"]}
        return entries(parse_study(data), version="1")[0]

    assert study("a", None).cell == study("b", "other").cell
    assert study("a", None).key.setting != study("b", "other").key.setting


@pytest.mark.parametrize("measure", [["exact"], ["sampled"]])
def test_seeds_enter_only_where_something_is_sampled(measure):
    def cell(first):
        data = {"name": "a", "settings": ["two-burst"], "rules": ["periodic"], "measure": measure}
        return entries(parse_study({**data, "seeds": {"first": first}}), version="1")[0].cell

    assert (cell(0).identity == cell(7).identity) == (measure == ["exact"])


def test_a_world_from_a_file_is_known_by_its_content_not_by_its_path(tmp_path):
    def cell(folder, reward):
        folder.mkdir()
        kernel = np.full((2, 1, 2), 0.5)
        np.savez(folder / "world.npz", kernel=kernel, reward=np.full((2, 1), reward))
        (folder / "s.toml").write_text(
            'world = "arrays"\nfile = "world.npz"\nhorizon = 4\nplanning_horizon = 2\nbudget = 2\n'
        )
        data = {"name": "a", "settings": ["s.toml"], "rules": ["periodic"]}
        return entries(parse_study(data, where=str(folder / "study.toml")), version="1")[0].cell

    here, there, other = cell(tmp_path / "a", 1.0), cell(tmp_path / "b", 1.0), cell(tmp_path / "c", 2.0)
    assert here.setting != there.setting
    assert here.identity == there.identity
    assert here.identity != other.identity


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package in place of replan, and how its version is found anew."""
    for name in ("model/kernel.py", "report/page.py", "robots/drone/flights.py", "robots/ros/node.py"):
        path = tmp_path / "replan" / name
        path.parent.mkdir(parents=True)
        path.write_text(f"# {name}\nvalue = 1\n")
    monkeypatch.setattr(replan, "__file__", str(tmp_path / "replan" / "__init__.py"))
    yield tmp_path / "replan"
    versions._digest.cache_clear()


def version(*modules):
    versions._digest.cache_clear()
    return versions.code_version(*modules)


def test_the_version_of_a_cell_changes_with_the_code_that_computes_it_and_not_with_other_code(package):
    before = version()
    for other in ("report/page.py", "robots/drone/flights.py", "robots/ros/node.py"):
        (package / other).write_text("two = 2\n")
    assert version() == before
    (package / "model/kernel.py").write_text("value = 2\n")
    assert version() != before


def test_a_measure_that_is_defined_elsewhere_adds_its_own_package(package):
    flown = "replan.robots.drone.flights"
    before = version(flown)
    (package / "robots/ros/node.py").write_text("two = 2\n")
    assert version(flown) == before != version()
    (package / "robots/drone/flights.py").write_text("two = 2\n")
    assert version(flown) != before


CODE = '''"""Docstring."""
import numpy

def f(x):
    """Another,
    of two lines.
    """
    # a comment
    text = """
# not a comment
"""
    return g(
        """not a docstring""", x
    )
'''


def test_comments_docstrings_and_empty_lines_do_not_count():
    lines = list(versions.code_lines(CODE))
    bare = CODE.replace('"""Docstring."""', "").replace("    # a comment\n", "\n\n")
    bare = bare.replace('    """Another,\n    of two lines.\n    """\n', "")
    assert list(versions.code_lines(bare)) == lines
    for changed in ("not a comment", "not a docstring", "numpy"):
        assert list(versions.code_lines(CODE.replace(changed, "other"))) != lines
