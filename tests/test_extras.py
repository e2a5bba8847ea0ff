"""The core works without the extras, and whatever needs one says so in one line."""

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from doc_pages import ROOT
from replan.errors import EXTRAS, InputError, extra_of, require_extra

BLOCKED = """
import json, sys
from importlib.abc import MetaPathFinder

class Blocked(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

names = set(json.loads(sys.argv[1]))
sys.meta_path.insert(0, Blocked())
"""
COMMANDS = """
from replan.cli import run
status = [run(command) for command in json.loads(sys.argv[2])]
assert not names & set(sys.modules)
print(json.dumps(status))
"""
AGENT = """
from replan import Agent, SimulatedRobot, load_setting, make_mission, make_rule

mission = make_mission(load_setting("nsbridge-0"))
agent, robot = Agent.on(mission, make_rule("lookahead")), SimulatedRobot(mission.world)
agent.start(robot.look())
while not agent.done:
    if agent.due().update:
        agent.update(robot.look())
    robot.do(agent.act())
assert not names & set(sys.modules)
"""
MODULES = [module for modules in EXTRAS.values() for module in modules]
CORE = [
    ["regret", "nsbridge-0", "--rule", "drift-threshold"],
    ["schedule", "nsbridge-0", "--rule", "lookahead"],
    ["optimum", "nsbridge-0"],
    ["budget", "nsbridge-0", "--rule", "periodic", "--most", "2"],
    ["explain", "nsbridge-0", "--rule", "periodic"],
    ["certify", "nsbridge-0", "--rule", "periodic"],
    ["list"],
]
NEEDY = {
    "study": [["run", "table1"], ["compare", "periodic"], ["reproduce", "table1"], ["benchmark", "periodic"],
              ["results", "x"], ["export", "x"], ["fly"], ["budget", "nsbridge-0", "--out", "x.png"],
              ["log", "x.csv"]],
    "mcap": [["schedule", "nsbridge-0", "--rule", "periodic", "--out", "x.mcap"]],
    "app": [["explore"]],
    "ros": [["ros", "x.toml"]],
    "nature": [["optimum", "wind.toml"]],
    "field": [["optimum", "field.toml"]],
}  # fmt: skip
SETTINGS = {
    "wind.toml": """
        world = "wind"
        station = "JFK"
        start_time = 2013-03-05
        planning_horizon = 5
        budget = 2
    """,
    "field.toml": """
        world = "field"
        file = "currents.nc"
        start_time = 2020-03-02
        start = [1, 1]
        goal = [6, 8]
        planning_horizon = 5
        budget = 2
    """,
}


def without_extras(script: str, *arguments: object, blocked=MODULES) -> subprocess.CompletedProcess:
    texts = [json.dumps(each) for each in (blocked, *arguments)]
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + script, *texts], capture_output=True, text=True, check=True
    )


def test_the_core_alone_has_its_commands_and_the_agent():
    done = without_extras(COMMANDS, CORE)
    assert json.loads(done.stdout.splitlines()[-1]) == [0] * len(CORE), done.stderr
    without_extras(AGENT)


@pytest.mark.parametrize("extra", NEEDY)
def test_whatever_needs_an_extra_names_it_in_one_line(extra, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in SETTINGS.items():
        Path(name).write_text(text)
    done = without_extras(COMMANDS, NEEDY[extra])
    assert json.loads(done.stdout.splitlines()[-1]) == [2] * len(NEEDY[extra])
    lines = done.stderr.splitlines()
    assert len(lines) == len(NEEDY[extra])
    assert all(f"needs the extra {extra}: pip install 'replan[{extra}]'" in line for line in lines)


def test_an_import_deep_inside_a_command_names_its_extra_too(tmp_path):
    fly = ["fly", "--density", "none", "--rule", "front-loaded", "--picture", str(tmp_path / "flight.png")]
    done = without_extras(COMMANDS, [fly], blocked=["crazyflow"])
    assert json.loads(done.stdout) == [2]
    assert "needs the extra crazyflow:" in done.stderr and done.stderr.count("\n") == 1
    assert extra_of("plotly.offline") == "study" and extra_of("numpy") is None


def test_an_extra_that_is_missing_is_named():
    with pytest.raises(InputError, match="drawing needs the extra gym:"):
        without = {"gym": ("no_such_module",)}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("replan.errors.EXTRAS", without)
            require_extra("gym", "drawing")


def test_the_extras_are_those_of_the_project():
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, modules in EXTRAS.items():
        named = {text.partition(">")[0].replace("-", "_") for text in declared[extra]}
        assert set(modules) <= named


@pytest.mark.slow
def test_the_core_alone_runs_in_a_bare_environment(tmp_path):
    """Only the packages that the core depends on are linked into a fresh environment."""
    home = tmp_path / "bare"
    venv.create(home, with_pip=False)
    install = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "-q"]
    subprocess.run([*install, "-c", str(ROOT / "constraints.txt"), str(ROOT)], check=True, timeout=900)
    packages = {path.name for path in (home / "lib").glob("python*/site-packages/*")}
    assert not packages & set(MODULES)
    for command in CORE:
        subprocess.run([str(home / "bin" / "replan"), *command], check=True, timeout=900, cwd=tmp_path)
