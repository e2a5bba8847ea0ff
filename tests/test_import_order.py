"""A folder of src/replan imports only from folders above it, however the import is written."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import replan

ROOT = Path(replan.__file__).parent
ORDER = [  # each line may import from itself and from the lines before it
    {"_loops"},
    {"errors", "typing"},
    {"model"},
    {"estimate"},
    {"forecast"},
    {"planning"},
    {"skip"},
    {"schedule"},
    {"execute"},
    {"evaluation"},
    {"certificates"},
    {"worlds"},
    {"robots", "environments"},
    {"commands", "warm"},
    {"results"},
    {"study"},
    {"suite"},
    {"report"},
    {"explore"},
    {"other commands"},
    {"cli", "__main__"},
]
OTHERS = {
    "benchmark",
    "engine_options",
    "explore",
    "fly",
    "recordings",
    "reproduce",
    "ros",
    "study",
}  # of replan.commands
LEVEL = {part: level for level, parts in enumerate(ORDER) for part in parts}
SIDE_BY_SIDE = {"robots", "environments"}  # which do not import from each other either
KNOWN = {  # (file, folder) of tables of names, which are imported when asked for
    ("schedule/registry.py", "study"),
    ("commands/budget.py", "report"),
}
MODULE = re.compile(r"replan(\.[a-z_]\w*)+(:\w+)?")
EXPORTED = {  # name of the top level -> its module
    alias.name: f"replan.{node.module}"
    for node in ast.parse((ROOT / "__init__.pyi").read_text()).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imported(text: str) -> Iterator[str]:
    """Modules of replan that a file imports, in functions, under TYPE_CHECKING and by name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, "imports are absolute"
            if node.module == "replan":
                yield from (EXPORTED.get(alias.name, f"replan.{alias.name}") for alias in node.names)
            else:
                yield node.module
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE.fullmatch(node.value):
            yield node.value.partition(":")[0]


def part_of(module: str) -> str:
    """The folder, or the file, of src/replan in which a module lies."""
    _, part, *inside = module.split(".")
    return "other commands" if part == "commands" and OTHERS & set(inside) else part


def faults(path: Path) -> set[tuple[str, str]]:
    relative = path.relative_to(ROOT)
    own = part_of(f"replan.{relative.with_suffix('').as_posix().replace('/', '.')}")
    used = {part_of(name) for name in imported(path.read_text()) if name.startswith("replan.")}
    used &= LEVEL.keys()
    wrong = {part for part in used if LEVEL[part] > LEVEL[own]}
    if own in SIDE_BY_SIDE:
        wrong |= used & (SIDE_BY_SIDE - {own})
    return {(str(relative), part) for part in wrong}


def test_every_folder_has_its_place():
    assert {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES} <= LEVEL.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_from_folders_above_its_own(path):
    assert faults(path) <= KNOWN


def test_what_is_known_to_be_wrong_is_still_wrong():
    assert {fault for path in FILES for fault in faults(path)} >= KNOWN


@pytest.mark.parametrize(
    "text",
    [
        "from replan.study.cells import Cell",
        "import replan.study.cells",
        "from replan import study",
        "def f():\n    from replan.study import cells",
        "if TYPE_CHECKING:\n    from replan.study.cells import Cell",
        "import_module('replan.study.cells')",
        "ELSEWHERE = {'rule': ('replan.study.cells', 'Cell')}",
        "BUILDER = 'replan.study.cells:Cell'",
    ],
)
def test_an_import_is_seen_however_it_is_written(text):
    assert {part_of(name) for name in imported(text) if name.startswith("replan.")} == {"study"}
