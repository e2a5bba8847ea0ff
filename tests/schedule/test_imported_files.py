"""The files that a rule imports from its own package or folder, directly or through others."""

import pytest

from replan.schedule.registry import imported_files


@pytest.fixture
def tree(tmp_path):
    """Return a function that finds the files which one of the given files imports, as text."""

    def imported(root=tmp_path, *, rule: str, **texts: str) -> list[str]:
        files = {name.replace("__in__", "/"): text for name, text in texts.items()}
        for name, text in files.items():
            path = root / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = imported_files(root / f"{rule}.py", files[rule], root)
        return [path.relative_to(root).with_suffix("").as_posix() for path in found]

    return imported


@pytest.mark.parametrize(
    "line",
    [
        "import near",
        "import near as n",
        "from near import N",
        "def f():\n    from near import N",
        "import near.x",
    ],
)
def test_what_lies_beside_the_file_is_followed_to_the_last(tree, line):
    files = {"near": "from deep import N", "deep": "import mod, deepest", "deepest": "N = 1", "other": ""}
    assert tree(rule="mod", mod=line, **files) == ["deep", "deepest", "near"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from pk.helper import N", ["pk/helper"]),
        ("import pk.helper", ["pk/helper"]),
        ("from pk import helper", ["pk/__init__", "pk/helper"]),
        ("from ..helper import N", ["pk/helper"]),
        ("from .. import helper", ["pk/__init__", "pk/helper"]),
        ("from .near import N", ["pk/helper", "pk/sub/near"]),
        ("from . import near", ["pk/helper", "pk/sub/near"]),
        ("from ...beyond import N", []),
        ("import beside", ["beside"]),
    ],
)
def test_in_its_own_package_the_imported_modules_count(tree, line, found):
    files = {
        "pk__in____init__": "",
        "pk__in__helper": "N = 1",
        "pk__in__unused": "",
        "pk__in__sub__in__near": "from ..helper import N",
        "beside": "",
        "beyond": "",
    }
    assert tree(rule="pk/sub/mod", pk__in__sub__in__mod=line, **files) == found


def test_another_package_counts_in_full_with_what_it_imports(tree):
    files = {"tools__in____init__": "", "tools__in__a": "import b", "b": "", "c": ""}
    assert tree(rule="mod", mod="from tools.c import N", **files) == ["b", "tools/__init__", "tools/a"]


def test_of_installed_libraries_the_package_of_the_rule_counts_alone(tree, tmp_path):
    files = {"pk__in__mod": "from .near import N\nimport other", "pk__in__near": "", "other": ""}
    assert tree(tmp_path / "site-packages", rule="pk/mod", **files) == ["pk/near"]
    assert tree(tmp_path / "elsewhere", rule="pk/mod", **files) == ["other", "pk/near"]


def test_replan_itself_and_what_is_not_found_are_left_alone(tree):
    lines = "import json, numpy.linalg, replan\nfrom replan.schedule import Rule\nfrom absent import N\n"
    assert tree(rule="mod", mod=lines + "import broken", broken="def f(:", replan="N = 1") == ["broken"]
