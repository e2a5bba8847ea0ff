"""Compiled code is cached where only its user can write."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import config

from replan.model import jit


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path


def test_the_fallback_folder_is_the_users_alone(temporary):
    folder = jit.own_folder()
    assert folder.parent == temporary and folder == jit.own_folder()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_enter_is_not_used(temporary):
    jit.own_folder().chmod(0o777)
    with pytest.raises(PermissionError):
        jit.own_folder()


def test_a_link_laid_by_another_is_not_followed(temporary):
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (temporary / f"replan-numba-{os.getuid()}").symlink_to(elsewhere)
    with pytest.raises(PermissionError):
        jit.own_folder()


@pytest.mark.parametrize("entered", [True, False], ids=["own folder", "no folder"])
def test_without_a_writable_home_functions_compile_and_numbas_own_setting_stays(
    temporary, monkeypatch, entered
):
    tried = []

    def njit(*, cache=False, **options):
        tried.append((cache, config.CACHE_DIR))
        if cache and (not config.CACHE_DIR or not entered):
            raise RuntimeError("no locator available")
        return lambda function: function

    monkeypatch.setattr(jit.numba, "njit", njit)
    before = config.CACHE_DIR
    assert jit.jit(len) is len
    own = str(jit.own_folder())
    assert tried == [(True, before), (True, own)] + ([] if entered else [(False, before)])
    assert before == config.CACHE_DIR


def test_a_read_only_machine_caches_in_the_users_folder(tmp_path):
    """A module whose source has no folder of its own to cache in, as on a read-only machine."""
    module = tmp_path / "code" / "looped.py"
    module.parent.mkdir()
    module.write_text("from replan.model.jit import jit\n\n@jit\ndef twice(x):\n    return 2 * x\n")
    (tmp_path / "home").write_text("a home that no folder can be made in")
    (module.parent / "__pycache__").write_text("nor here")
    environment = os.environ | {
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(module.parent), *sys.path]),
    }
    environment.pop("NUMBA_CACHE_DIR", None)
    subprocess.run(
        [sys.executable, "-B", "-c", "import looped; assert looped.twice(3) == 6"],
        env=environment,
        check=True,
        cwd=Path(tmp_path),
    )
    assert list((tmp_path / f"replan-numba-{os.getuid()}").rglob("*.nbi"))
