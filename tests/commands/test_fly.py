"""`replan fly --link` against a drone in simulated time: its answer is the drone's own account."""

import json
import os
import signal
import sys

import pytest
from tests.robots.crazyflie.faults import FAULTS, OUTAGES, PHASES, Fault, account, begins, run

from replan.cli import run as replan


def fly(peer, capfd, tmp_path, *options: str) -> tuple[int, dict, str]:
    """Run the command; return its status, its answer and what it wrote to standard error."""
    common = ["--rule", "front-loaded", "--density", "none", "--json"]
    paths = ["--picture", str(tmp_path / "flight.png"), "--log", str(tmp_path / "flight.mcap")]
    status = replan(["fly", "--link", peer.uri, *common, *paths, *options])
    captured = capfd.readouterr()
    return status, json.loads(captured.out), captured.err


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("seconds", OUTAGES)
def test_outages(make_peer, capfd, tmp_path, phase, seconds):
    peer = make_peer()
    peer.when(begins(peer, phase), lambda: peer.cut_off(seconds))
    status, answer, errors = fly(peer, capfd, tmp_path)
    assert answer["landing"] == account(peer)
    saved = seconds < 2.0 or phase == "descent"
    assert answer["landing"] == ("landed" if saved else "landed but locked")
    broken_off = phase != "descent" and seconds > 0.8
    assert (answer["aborted"] is not None) == broken_off
    assert status == int(broken_off)
    assert "Traceback" not in errors and "LogEntry" not in errors


@pytest.mark.parametrize("loss", [0.05, 0.2])
def test_packet_loss_from_the_start(make_peer, capfd, tmp_path, loss):
    peer = make_peer(loss=loss)
    status, answer, _ = fly(peer, capfd, tmp_path)
    assert (status, answer["landing"]) == (0, "landed")
    assert account(peer) == "landed"


@pytest.mark.parametrize("phase", ["climb", "cruise"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_end_in_a_landing_and_still_write_picture_and_log(
    make_peer,
    capfd,
    tmp_path,
    phase,
    name,
):
    peer, number = make_peer(), signal.Signals[name]
    peer.when(begins(peer, phase), lambda: os.kill(os.getpid(), number))
    peer.when(begins(peer, "descent"), lambda: os.kill(os.getpid(), number))
    status, answer, _ = fly(peer, capfd, tmp_path)
    assert status == 128 + number
    assert answer["landing"] == account(peer) == "landed"
    assert answer["aborted"] == f"stopped by {name}"
    assert (tmp_path / "flight.png").stat().st_size > 0
    assert (tmp_path / "flight.mcap").stat().st_size > 0


def test_a_refused_flight_says_so_and_nothing_else(make_peer, capfd, tmp_path):
    peer = make_peer()
    peer.drone.hover(0.5)
    arguments = [
        "fly",
        "--link",
        peer.uri,
        "--rule",
        "front-loaded",
        "--picture",
        str(tmp_path / "flight.png"),
    ]
    assert replan(arguments) == 1
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "already flying" in lines[0] and lines[1] == "left flying: somebody else flies it"
    assert not (tmp_path / "flight.png").exists()


def test_moves_are_numbered_as_updates_are_and_end_at_the_goal(make_peer, capfd, tmp_path):
    arguments = ["fly", "--link", make_peer().uri, "--rule", "front-loaded", "--density", "none"]
    assert replan([*arguments, "--picture", str(tmp_path / "flight.png")]) == 0
    captured = capfd.readouterr()
    moves = [line for line in captured.err.splitlines() if line.startswith("at ")]
    assert [int(line.split()[1]) for line in moves] == list(range(len(moves)))
    looked = [int(line.split()[1]) for line in moves if "update" in line]
    updates = [line for line in captured.out.splitlines() if line.startswith("update at ")]
    assert looked == [int(line.split()[2].rstrip(":")) for line in updates]
    assert f"after {len(moves)} moves" in captured.out


OWN = """
from dataclasses import dataclass
from replan import Decision, Rule

@dataclass(frozen=True)
class Every(Rule):
    steps: int = 4

    def decide(self, context):
        return Decision(context.time - context.last_update >= self.steps, f"{self.steps} steps")
"""


@pytest.mark.parametrize("rule", ["own_to_fly.py:Every", "own_to_fly:Every"])
def test_a_rule_of_ones_own_flies(make_peer, capfd, tmp_path, monkeypatch, rule):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_to_fly.py").write_text(OWN)
    try:
        _, answer, _ = fly(make_peer(), capfd, tmp_path, "--rule", rule)
    finally:
        sys.modules.pop("own_to_fly", None)
    assert (answer["rule"], answer["source"]) == (rule, rule)
    assert any(update["reason"] == "4 steps" for update in answer["updates"])


def test_a_folder_that_does_not_exist_is_refused_before_take_off(capfd):
    assert replan(["fly", "--link", "udp://127.0.0.1:9", "--picture", "no/such/folder/flight.png"]) == 2
    assert "no folder" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.name}, {fault.phase}")
def test_the_command_in_real_time(fault: Fault):
    drone, program, _ = run(fault)
    assert not drone.startswith("in the air")
    assert program == ("nothing" if "SIGKILL" in fault.signals else drone)
