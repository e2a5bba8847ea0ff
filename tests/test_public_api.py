"""The public names: they exist, load late, and are what the docs use."""

import ast
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import import_module
from pkgutil import iter_modules, walk_packages

import pytest

import replan
from doc_pages import PAGES, ROOT, blocks

STAGES = [module.name for module in walk_packages(replan.__path__, "replan.") if module.ispkg]
PUBLIC = [
    package
    for package in ["replan", *STAGES]
    if "__all__" in vars(import_module(package)) and "._" not in package
]


def loaded_after(script: str) -> set[str]:
    script += "; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def imports_shown() -> set[tuple[str, str]]:
    """(module, name) of every import from replan in docs and examples."""
    texts = [block.text for page in PAGES for block in blocks(page) if block.language == "python"]
    texts += [path.read_text() for path in (ROOT / "examples").glob("*.py")]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    return {
        (node.module, alias.name)
        for node in nodes
        if node.module and node.module.split(".")[0] == "replan"
        for alias in node.names
    }


@pytest.mark.parametrize("package", PUBLIC)
def test_every_exported_name_exists_and_dir_shows_it(package):
    module = import_module(package)
    assert all(getattr(module, name) is not None for name in module.__all__)
    assert set(module.__all__) <= set(dir(module))


def test_the_top_level_offers_what_a_user_needs_first():
    first = "RegretGuided Lookahead Periodic make_rule load_setting make_mission evaluate optimum decompose"
    first += " check_rule Agent Mission plan oracle rollout certify World Reward Ties InputError"
    assert set(first.split()) <= set(replan.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="No replan attribute replanner"):
        replan.replanner  # noqa: B018


def test_importing_replan_loads_nothing_heavy():
    heavy = {"numpy", "numba", "scipy", "pydantic", "gymnasium", "matplotlib", "plotly", "typer"}
    assert not heavy & loaded_after("import replan")
    assert not (heavy - {"numpy"}) & loaded_after("from replan import rover; rover(3, [0.1, 0.2])")


def test_a_name_that_never_was_is_refused_as_python_does():
    with pytest.raises(ImportError, match="cannot import name"):
        exec("from replan import nothing_of_this_name")
    with pytest.raises(ModuleNotFoundError):
        import_module("replan.never")


def test_no_name_is_both_a_module_and_exported():
    clashes = set()
    for package in PUBLIC:
        module = import_module(package)
        clashes |= {(package, found.name) for found in iter_modules(module.__path__)} & {
            (package, name) for name in module.__all__
        }
    assert not clashes


def test_each_class_name_has_one_meaning():
    classes, aliases = Counter(), set()
    for path in (ROOT / "src" / "replan").rglob("*.py"):
        tree = ast.parse(path.read_text())
        classes.update(node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
        assigned = [node.targets[0] for node in tree.body if isinstance(node, ast.Assign)]
        aliases |= {target.id for target in assigned if isinstance(target, ast.Name)}
    assert not {name for name, times in classes.items() if times > 1}
    assert not classes.keys() & aliases


def test_docs_and_examples_import_only_what_is_exported():
    for module, name in imports_shown():
        assert module in PUBLIC, (module, name)
        assert name in import_module(module).__all__ or f"{module}.{name}" in STAGES, (module, name)


def test_the_version_stands_once_and_types_are_shipped():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/replan/__init__.py"
    assert (ROOT / "src" / "replan" / "py.typed").exists()
