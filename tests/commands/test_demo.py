"""`replan demo`: two robots on a map, live on a terminal, as lines elsewhere, as one object for programs."""

import json
import os
import pty
import re
import subprocess
import sys
import time

import pytest

from replan import Lookahead, load_setting, make_mission, regret
from replan.cli import run
from replan.commands.demo import SETTING, make_scenes


@pytest.fixture(scope="module")
def scenes():
    return make_scenes(2)


def test_json_is_one_object_with_both_robots_and_exact_regrets(capsys):
    assert run(["demo", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    blind, sees = found["robots"]
    assert (blind["robot"], sees["robot"]) == ("blind", "sees")
    ours = blind["rules"][0]
    assert ours["regret"] == pytest.approx(
        regret(make_mission(load_setting(SETTING)), Lookahead()), abs=1e-12
    )
    assert len(blind["times"]) == 4 and blind["times"][0] == 1 and len(ours["lost"]) == 40
    updates = [each["t"] for each in sees["decisions"] if each["update"]]
    assert updates == sees["times"] and all(each["reason"] for each in sees["decisions"])


def test_the_robot_that_sees_needs_one_replan_for_what_takes_the_others_all(scenes):
    last, every, never = scenes[1].contenders
    assert last.updates < 1.01 and every.updates == pytest.approx(39)
    assert last.lost[-1] < every.lost[-1] + 1e-4 and never.lost[-1] > 5


def test_a_blind_robot_with_look_ahead_loses_less_than_with_even_spacing(scenes):
    ours, even, once = scenes[0].contenders
    assert [round(each.updates, 9) for each in (ours, even, once)] == [4, 4, 1]
    assert ours.lost[-1] < 0.85 * even.lost[-1] < 0.85 * once.lost[-1]


def test_what_is_said_of_a_step(scenes):
    blind, sees = scenes
    t = blind.run.times[1]
    said = " / ".join(blind.facts(t))
    assert (
        "REPLANS" in said
        and f"the current plan, made at t = {t}," in said
        and re.search(rf"planned at 1: expected loss [\d.]+ at {t}, against", said)
    )
    believed = " / ".join(blind.facts(t - 1))
    assert (
        "keeps its plan" in believed
        and "the current plan, made at t = 1, assumes 2%" in believed
        and "from where it believes" in believed
    )
    assert "it sees where it is" in sees.facts(3)


def test_piped_output_is_plain_and_ends_with_the_figures(capsys):
    assert run(["demo", "--seed", "0"]) == 0
    out = capsys.readouterr().out
    assert out.isascii() and "\x1b" not in out
    assert "R the robot   ? where it believes it is   U replanned here   o its way   G goal   w water" in out
    assert "w water   x melted ice   - ice\n" in out and "# wall" not in out
    assert "sees: last-moment loses 0.00 with 1 replan (at every step, 39 replans: 0.00; never, 0 " in out
    assert "chance that the ice breaks under a step: " in out and "the current plan, made at t = " in out


def test_a_terminal_sees_every_step():
    main, side = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    begun = time.monotonic()
    command = [sys.executable, "-m", "replan.cli", "demo"]
    with subprocess.Popen(command, stdout=side, stderr=subprocess.DEVNULL, env=environment) as running:
        os.close(side)
        shown = b""
        try:
            while part := os.read(main, 65536):
                shown += part
        except OSError:  # the other end is closed
            pass
    os.close(main)
    assert running.returncode == 0 and time.monotonic() - begun < 60
    for t in (1, 20, 40):
        assert shown.count(f"step {t} of 40".encode()) >= 2
    assert b"REPLANS" in shown
