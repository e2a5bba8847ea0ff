"""Compiled code is cached where only its user can write, and works where nothing can be cached."""

import os
import subprocess
import sys

import pytest

FOLDER = f"replan-numba-{os.getuid()}"


@pytest.fixture
def run(tmp_path):
    """Run a compiled function in a process that can cache neither beside the source nor at home."""
    module = tmp_path / "code" / "looped.py"
    module.parent.mkdir()
    module.write_text("from replan._loops.compiler import jit\n\n@jit\ndef twice(x):\n    return 2 * x\n")
    (module.parent / "__pycache__").write_text("a file where the folder should be")
    (tmp_path / "home").write_text("likewise")
    environment = os.environ | {
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(module.parent), *sys.path]),
    }
    environment.pop("NUMBA_CACHE_DIR", None)

    def run():
        code = (
            "import looped, numba.core.config as c; before = c.CACHE_DIR; "
            "import replan._loops.stencil; assert c.CACHE_DIR == before; print(looped.twice(3))"
        )
        command = [sys.executable, "-B", "-c", code]
        done = subprocess.run(
            command, env=environment, check=True, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.stdout == "6\n"
        return sorted(path.name for path in tmp_path.rglob("looped*.nbi"))

    return run


def test_a_read_only_machine_caches_in_a_folder_of_the_users_own(run, tmp_path):
    assert run()
    assert (tmp_path / FOLDER).stat().st_mode & 0o777 == 0o700
    assert run()  # and finds it again


def test_a_folder_that_others_can_enter_is_not_used(run, tmp_path):
    (tmp_path / FOLDER).mkdir(mode=0o777)
    (tmp_path / FOLDER).chmod(0o777)
    assert not run()


def test_a_link_laid_by_another_is_not_followed(run, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (tmp_path / FOLDER).symlink_to(elsewhere)
    assert not run()
