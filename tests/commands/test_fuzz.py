"""Fuzzed files and options end in status 0, 1 or 2 with one line, never in a traceback, a hang or a swamp."""

import io
import json
import random
import resource
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from replan.cli import run

SECONDS, BYTES = 60, 2e9
CASES = 200
SETTING = """world = "rover"
n = 4
horizon = 8
planning_horizon = 3
budget = 2
ties = "first"
[drift]
kind = "piecewise"
slip = 0.05
quiet = 0.001
bursts = [[0.2, 0.6, 0.03]]
"""
STUDY = """settings = ["{setting}"]
rules = [
  "periodic",
  {{ rule = "drift-threshold", set = {{ threshold = 0.1 }}, grid = {{ pace_weight = [0.0, 0.1] }} }},
]
executions = ["map"]
measure = ["exact"]
"""
LOG = "t,s,a,next\n" + "".join(f"{t},{t % 4},{t % 2},{(t + 1) % 4}\n" for t in range(12))
VALUES = (
    "0", "-1", "1e400", "nan", "true", '""', '"x"', "[]", "{}", "9" * 30, "1.5", "[1, [2]]", "2020-01-01",
    "1e308", "-0.0", '"' + "y" * 400 + '"',
)  # fmt: skip


@contextmanager
def bounded():
    """Raise after SECONDS, also in a loop that never ends."""

    def late(number, frame):
        raise TimeoutError(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def survives(capsys, *arguments: object) -> int:
    with bounded():
        status = run([str(each) for each in arguments])
    captured = capsys.readouterr()
    assert status in (0, 1, 2), captured.err
    if status == 2:
        assert captured.err.strip() and captured.err.strip().count("\n") == 0, captured.err
    assert "Traceback" not in captured.err + captured.out
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < BYTES
    return status


def mutated(text: str, chance: random.Random) -> str:
    """Change a text of key = value lines in one to three places."""
    lines = text.splitlines()
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(lines))
        line, kind = lines[at], chance.randrange(6)
        if kind == 0 and "=" in line:
            lines[at] = f"{line.split('=')[0]}= {chance.choice(VALUES)}"
        elif kind == 1:
            del lines[at : at + 1]
        elif kind == 2:
            lines.insert(at, line)
        elif kind == 3:
            place = chance.randrange(len(line) + 1)
            lines[at] = line[:place] + chance.choice("\x00\"[]{}=,.é\t\\'") + line[place:]
        elif kind == 4:
            lines[at] = f"{chance.choice(['unknown', 'n', 'seed', 'file'])} = {chance.choice(VALUES)}"
        else:
            lines[at] = line[: chance.randrange(len(line) + 1)]
        lines = lines or [""]
    return "\n".join(lines) + "\n"


@pytest.fixture(params=range(CASES // 20), ids=lambda seed: f"seed {seed}")
def chance(request):
    return random.Random(request.param)


@pytest.mark.slow
def test_settings(capsys, tmp_path, chance):
    for case in range(20):
        path = tmp_path / f"{case}.toml"
        path.write_text(mutated(SETTING, chance))
        survives(capsys, chance.choice(["regret", "schedule", "explain"]), path, "--rule", "periodic")


@pytest.mark.slow
def test_study_files(capsys, tmp_path, chance):
    (tmp_path / "setting.toml").write_text(SETTING)
    for case in range(20):
        path = tmp_path / f"study{case}.toml"
        path.write_text(mutated(STUDY.format(setting="setting.toml"), chance))
        survives(capsys, "run", path, "--out", tmp_path / f"out{case}", "--workers", 1)


@pytest.mark.slow
def test_array_files(capsys, tmp_path, chance):
    setting = tmp_path / "arrays.toml"
    setting.write_text(
        'world = "arrays"\nfile = "world.npz"\nhorizon = 4\nplanning_horizon = 2\nbudget = 1\n'
    )
    for _ in range(20):
        rng = np.random.default_rng(chance.randrange(2**32))
        arrays = {
            "kernels": rng.dirichlet(np.ones(3), (4, 3, 2)),
            "rewards": rng.normal(size=(3, 2)),
            "start": np.array(0),
            "drift_bounds": np.full(3, 0.5),
        }
        name = chance.choice(list(arrays))
        arrays[name] = chance.choice(
            [arrays[name] * np.nan, arrays[name][None], arrays[name].astype(complex), np.zeros(0),
             np.array("text"), arrays[name] * 1e308, arrays[name] - 7, np.array([[[[[1.0]]]]])]
        )  # fmt: skip
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        content = bytearray(buffer.getvalue())
        for _ in range(chance.choice([0, 0, 1, 30])):
            content[chance.randrange(len(content))] = chance.randrange(256)
        (tmp_path / "world.npz").write_bytes(content[: chance.choice([len(content), len(content) // 2])])
        survives(capsys, "regret", setting, "--rule", "periodic")


@pytest.mark.slow
def test_logs(capsys, tmp_path, monkeypatch, chance):
    monkeypatch.chdir(tmp_path)  # where the worlds of logs are written
    for case in range(20):
        path = tmp_path / f"{case}.csv"
        path.write_text(mutated(LOG, chance), encoding=chance.choice(["utf-8", "utf-16"]))
        options = chance.choice([(), ("--states", 4, "--actions", 2, "--drift-bound", 0.1)])
        survives(capsys, "estimate", path, *options)


OPTIONS = {
    "regret": ("--times", "--rule", "--set", "--execution", "--rollouts", "--seed"),
    "schedule": ("--times", "--rule", "--set", "--execution", "--seed"),
    "explain": ("--times", "--rule", "--set", "--execution"),
    "certify": ("--times", "--rule", "--set"),
    "optimum": ("--execution",),
    "list": (),
}
WORDS = ("periodic", "1,3", "1", "-1", "1e400", "nan", "", "=", "a=b", "x.py:Y", "os:path", "map", "belief",
         "9" * 25, "threshold=0.1", "random", "1,1", "8,1", "\x00", "é", "../..", "lookahead",
         "m=2.5")  # fmt: skip


@pytest.mark.slow
def test_options(capsys, tmp_path, chance):
    setting = tmp_path / "setting.toml"
    setting.write_text(SETTING)
    for _ in range(20):
        command = chance.choice(list(OPTIONS))
        words = [command] if command == "list" else [command, setting]
        for option in chance.sample(OPTIONS[command], min(len(OPTIONS[command]), chance.randint(0, 3))):
            words += [option, chance.choice(WORDS)]
        survives(capsys, *words, *chance.choice([(), ("--json",)]))


@pytest.mark.slow
def test_explorer_links(capsys, chance):
    from replan.errors import InputError
    from replan.explore.link import from_query

    for _ in range(20):
        query = {"world": "rover", "n": "4", "horizon": "8", "budget": "2", "planning_horizon": "3"}
        query[chance.choice([*query, "drift.kind", "times", "rule"])] = chance.choice([*WORDS, "[" * 10**5])
        with bounded():
            try:
                from_query(query)
            except InputError as error:
                assert "\n" not in str(error)


@pytest.mark.slow
def test_snapshots(tmp_path, chance):
    from replan import Agent, InputError, Periodic, load_setting, make_mission

    mission = make_mission(load_setting("two-burst"))
    agent, path = Agent.on(mission, Periodic()), tmp_path / "agent.npz"
    agent.start(0)
    for _ in range(20):
        agent.due()
        agent.act()
    agent.save(path)
    whole = path.read_bytes()
    with np.load(path) as file:
        header = json.loads(str(file["header"]))
        arrays = {name: file[name] for name in file if name != "header"}
    for _ in range(20):
        if chance.random() < 0.5:
            content = bytearray(whole)
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            Path(path).write_bytes(content)
        else:
            changed = {**header, chance.choice(list(header)): chance.choice([None, -1, 10**9, "x", [], True])}
            np.savez(path, header=np.array(json.dumps(changed)), **arrays)
        with bounded():
            try:
                agent.restore(path)
            except InputError as error:
                assert "\n" not in str(error)
