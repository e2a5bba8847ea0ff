"""Faults during `replan fly --link`: the program's answer beside the drone's own account of it.

`python -m tests.robots.crazyflie.faults` runs the command as a process in real time and prints a table (about
ten minutes; `--only WORD` runs a part of it). The tests run the outages in simulated time.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.robots.crazyflie.peer import Peer

PHASES = ("climb", "cruise", "descent")
OUTAGES = (0.3, 1.0, 1.6, 3.0, 9.0)
COMMAND = ("--density", "none", "--rule", "front-loaded", "--json")


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong in a phase of a flight."""

    name: str
    phase: str
    cut: float = 0.0  # s of a dead link
    loss: float = 0.0  # share of packets lost from the start
    signals: tuple[str, ...] = ()  # sent one after the other
    strike: Callable[[Peer], None] | None = None  # anything else


def _jump(peer: Peer) -> None:
    peer.drone.offset = (0.6, 0.0, 0.0)


def _lose_positioning(peer: Peer) -> None:
    peer.drone.variance = 0.3**2


FAULTS = (
    Fault("nothing", "cruise"),
    *(Fault(f"outage of {seconds:g} s", phase, cut=seconds) for phase in PHASES for seconds in OUTAGES),
    *(Fault(f"{loss:.0%} of the packets lost", "start", loss=loss) for loss in (0.05, 0.2)),
    Fault("uplink dead for 1.6 s", "cruise", strike=lambda peer: peer.cut_off(1.6, "up")),
    Fault("positioning jumps by 0.6 m", "cruise", strike=_jump),
    Fault("positioning gone", "cruise", strike=_lose_positioning),
    Fault("restart of the drone", "cruise", strike=Peer.reboot),
    *(
        Fault(" and ".join(names), phase, signals=names)
        for phase in ("climb", "cruise")
        for names in (("SIGINT", "SIGINT"), ("SIGTERM",), ("SIGHUP",), ("SIGKILL",))
    ),
)


def begins(peer: Peer, phase: str) -> Callable[[], bool]:
    """Return whether a phase of the flight has begun."""
    drone = peer.drone
    if phase == "climb":
        return lambda: drone.height > 0.17
    if phase == "cruise":
        return lambda: abs(drone.position[0] - drone.place[0]) + abs(drone.position[1] - drone.place[1]) > 0.4
    return lambda: drone.plan is not None and drone.plan.lands and drone.height < 0.35


def account(peer: Peer) -> str:
    """Return the drone's own account of its end, in the words of the program."""
    drone = peer.drone
    if not drone.setpoints:
        return "never took off"
    if drone.height > 0.0 or drone.motors_on:
        return f"in the air at {drone.height:.2f} m"
    if drone.fell and not drone.locked:
        return "fell"
    return "landed but locked" if drone.locked else "landed"


def run(fault: Fault) -> tuple[str, str, str]:
    """Fly in real time; return the drone's account, the program's, and its exit status."""
    with Peer(loss=fault.loss) as peer, tempfile.TemporaryDirectory() as folder:
        where = ["--link", peer.uri, "--picture", f"{folder}/flight.png"]
        command = [sys.executable, "-m", "replan.cli", "fly", *COMMAND, *where]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def strike() -> None:
            if fault.cut:
                peer.cut_off(fault.cut)
            if fault.strike is not None:
                fault.strike(peer)
            for name in fault.signals:
                process.send_signal(signal.Signals[name])
                time.sleep(0.3)

        if fault.phase != "start":
            peer.when(begins(peer, fault.phase), strike)
        out, errors = process.communicate(timeout=300)
        until = time.monotonic() + 10.0
        while (peer.drone.motors_on or peer.drone.height > 0.0) and time.monotonic() < until:
            time.sleep(0.1)
        said = json.loads(out)["landing"] if out.strip() else "nothing"
        noise = " with a traceback" if "Traceback" in errors else ""
        return account(peer), said + noise, str(process.returncode)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    print("| fault | phase | the drone | the program | exit status |\n|---|---|---|---|---|")
    for fault in FAULTS:
        if only in f"{fault.name} {fault.phase}":
            print("|", " | ".join((fault.name, fault.phase, *run(fault))), "|", flush=True)


if __name__ == "__main__":
    main()
