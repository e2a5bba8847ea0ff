"""The wheel, installed in a fresh environment outside the checkout, runs the README's commands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv

import pytest

from doc_pages import ROOT

EXTRAS = {"explore": "app", "fly": "crazyflow", "ros": "ros"}
FIRST = ("list", "regret")  # the others are compiled anew for minutes: `make test-slow` runs them
TIMEOUT = 900


FURTHER = (
    "replan benchmark lookahead",
    "replan certify two-burst --times 1,17,33,49",
    "replan list",
    "replan ros robot.toml",
    "replan fly --density dense --layout 3 --rule lookahead",
)


def readme_commands() -> list[list[str]]:
    """The commands of the README's table, as typed, and those that it leaves to the page of commands."""
    found = re.findall(r"^\| [^|]+ \| `(replan [^`]+)`", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(found) == 8, "what a newcomer needs"
    return [shlex.split(command)[1:] for command in (*found, *FURTHER)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy of nothing but what is in the tree."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode and "hatchling" in done.stderr:
        pytest.skip("left out: the build backend cannot be fetched without a network")
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def run_in(home, *arguments: str, timeout: int = TIMEOUT) -> subprocess.CompletedProcess:
    """Run `replan` of an environment, outside the checkout and without its paths."""
    work = home.parent / "work"
    work.mkdir(exist_ok=True)
    return subprocess.run(
        [str(home / "bin" / "replan"), *arguments],
        cwd=work,
        env={"PATH": "/usr/bin:/bin", "HOME": str(work)},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def install(home, *packages: str) -> None:
    """Install into an environment that has no pip of its own."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(home / "bin" / "python"),
        "install",
        "-q",
        *packages,
    ]
    subprocess.run(command, check=True, timeout=TIMEOUT, capture_output=True)


def share_compiled_loops(site) -> None:
    """Spare the wheel half a minute of compiling: its loops are those of the checkout, times of files too."""
    for module in (ROOT / "src" / "replan" / "_loops").glob("*.py"):
        shutil.copystat(module, site / "replan" / "_loops" / module.name)
    for compiled in (ROOT / "src" / "replan" / "_loops" / "__pycache__").glob("*.nb?"):
        copied = site / "replan" / "_loops" / "__pycache__" / compiled.name
        copied.parent.mkdir(exist_ok=True)
        shutil.copy(compiled, copied)


def test_the_first_commands_of_the_readme_run_from_the_wheel(wheel, tmp_path):
    """Dependencies are those of this environment; replan itself is the wheel's."""
    home = tmp_path / "environment"
    venv.create(home)
    (site,) = home.glob("lib/python*/site-packages")
    install(home, "--no-deps", str(wheel))
    share_compiled_loops(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = subprocess.run(
        [str(home / "bin" / "python"), "-c", "import replan; print(replan.__file__)"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert str(site) in where
    assert run_in(home, "--version").stdout.startswith("replan ")
    for arguments in readme_commands():
        if arguments[0] in FIRST:
            done = run_in(home, *arguments)
            assert done.returncode == 0 and done.stdout, (arguments, done.stderr)


@pytest.mark.slow
def test_every_command_of_the_readme_runs_with_its_extras(wheel, tmp_path):
    home = tmp_path / "environment"
    venv.create(home)
    extras = ",".join(["study", *EXTRAS.values(), "mcap"])
    install(home, "-c", str(ROOT / "constraints.txt"), f"{wheel}[{extras}]")
    for arguments in readme_commands():
        if arguments[0] in ("explore", "ros"):  # they serve until they are stopped
            arguments = [arguments[0], "--help"]
        done = run_in(home, *arguments)
        assert done.returncode == 0 and done.stdout, (arguments, done.stderr)
