"""The docs build as `make docs` builds them, and a warning is an error."""

from __future__ import annotations

import subprocess
import sys

from doc_pages import ROOT


def test_the_docs_build_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    built = subprocess.run(
        [*command, "-d", str(tmp_path / "doctrees"), str(ROOT / "docs"), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "html" / "_images" / "readme.png").exists()
