"""A test run says at its end what it left out."""

import subprocess
import sys

from doc_pages import ROOT
from left_out import left_out_lines


def test_reasons_are_counted_the_commonest_first():
    reasons = ["Skipped: no font", *["Skipped: left out: no chromium"] * 3]
    assert left_out_lines(reasons, chosen="") == ["3 tests: no chromium", "1 test: no font"]
    assert left_out_lines([], chosen="") == ["nothing"]
    (slow,) = left_out_lines([], chosen="not slow")
    assert "make test-slow" in slow


def test_a_run_ends_with_them(tmp_path):
    (tmp_path / "test_one.py").write_text(
        "import pytest\n\ndef test_it():\n    pytest.skip('no robot here')\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
    command += [
        "--rootdir",
        str(ROOT),
        "--confcutdir",
        str(ROOT),
        str(tmp_path),
        str(ROOT / "tests/test_left_out.py"),
    ]
    command += ["-k", "test_it or counted", "-n", "1"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "1 passed, 1 skipped" in out
    assert "left out" in out and "1 test: no robot here" in out and "make test-slow" in out


def test_tests_bring_their_browser():
    plan = subprocess.run(["make", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert plan.index("install -y -qq --no-install-recommends chromium") < plan.index("-m pytest")
