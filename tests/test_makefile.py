"""`make setup` anywhere."""

import shutil
import subprocess
import sys

from doc_pages import ROOT

PIP = """#!/bin/sh
for file in $PIP_CONSTRAINT; do test -e "$file" || exit 1; done
echo "$@" >> asked
"""


def test_set_up_in_a_path_with_spaces_finds_its_constraints(tmp_path):
    folder = tmp_path / "a robot's home"
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    python = folder / ".venv" / "bin" / "python"
    python.write_text(PIP)
    python.chmod(0o755)
    done = subprocess.run(
        ["make", "setup", f"PYTHON={sys.executable}"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "-c constraints.txt -e ." in (folder / "asked").read_text()
