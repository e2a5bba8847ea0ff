"""Nav2's question over DDS: how much later does the answer come with a decision in it?

Run `python -m benchmarks ros` for this topic only. The peer is the same service answered with a constant, in
a process of its own as well; medians of calls in turns. An update's own work is timed apart, without DDS.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

import numpy as np

from benchmarks.timing import Row, alone, seconds

SIDE, POSES, CALLS = 200, 100, 300
DOMAIN = 93
CONSTANT, DECIDED, FORWARDED = "/constant", "/decided", "/forwarded"


def rows() -> list[Row]:
    from replan.robots.ros2 import messages
    from replan.robots.ros2.dds import Bus
    from replan.robots.ros2.messages import REQUESTS, RESPONSES

    with ExitStack() as stack:
        for service in (CONSTANT, DECIDED, FORWARDED):
            stack.enter_context(_server(service))
        bus = Bus(DOMAIN, localhost=True)
        clients = {
            service: bus.client(service, REQUESTS["1.3"], RESPONSES["1.3"])
            for service in (CONSTANT, DECIDED, FORWARDED)
        }
        plan = bus.publisher("/plan", messages.Path)
        while not all(client.ready for client in clients.values()):
            bus.spin(0.05)
        poses = [
            messages.PoseStamped(pose=messages.Pose(messages.Point(1 + k / 20, 1.0))) for k in range(POSES)
        ]
        request = REQUESTS["1.3"](path=messages.Path(messages.Header(frame_id="map"), poses))
        for _ in range(20):
            plan(messages.Path(messages.Header(frame_id="map"), poses))
            bus.spin(0.05)
        taken: dict[str, list[float]] = {service: [] for service in clients}
        for _ in range(CALLS):
            for service, client in clients.items():
                began = time.perf_counter()
                pending = client.call(request)
                while not pending.done():
                    bus.spin(0.1)
                taken[service].append(time.perf_counter() - began)
        bus.close()
    median = {service: statistics.median(times) for service, times in taken.items()}
    peer = {"peer": "a constant answer", "peer_seconds": median[CONSTANT]}
    what = f"IsPathValid of {POSES} poses over DDS, {SIDE} x {SIDE} map"
    return [
        Row(what=what, ours_seconds=median[DECIDED], **peer),
        Row(what=f"{what}, forwarded", ours_seconds=median[FORWARDED], **peer),
        alone(
            f"what the decision adds to the median call, {SIDE} x {SIDE} map",
            median[DECIDED] - median[CONSTANT],
        ),
        *_updates(),
    ]


def _updates() -> list[Row]:
    """A new path and the decision after it, without DDS."""
    found = []
    for rule in ("periodic", "drift-threshold"):
        scheduler, stamp = _scheduler(rule), iter(range(1, 10**9))
        points = np.column_stack([1 + np.arange(POSES) / 20, np.ones(POSES)])
        scheduler.on_path(points, 0.0)

        def update(scheduler=scheduler, stamp=stamp, points=points) -> None:
            now = float(next(stamp))
            scheduler.on_path(points, now, stamp=now)
            scheduler.peek(now + 1.0)

        found.append(
            alone(f"a new path and the decision after it, {rule}, {SIDE} x {SIDE} map", seconds(update))
        )
    return found


def _scheduler(rule: str):
    from replan.robots.ros2.nav2_scheduler import Nav2Scheduler
    from replan.schedule.registry import make_rule
    from replan.worlds.cell_map import CellMap
    from replan.worlds.settings import parse_setting

    drift = {"kind": "linear", "slip": 0.05, "rate": 0.0005}
    keys = {"world": "map", "cell": 0.05, "speed": 0.05, "horizon": 600, "planning_horizon": 20, "budget": 60}
    cells = CellMap(0.05, (SIDE, SIDE), np.zeros(SIDE * SIDE, dtype=bool))
    parameters = {"threshold": 0.1} if rule == "drift-threshold" else {}
    return Nav2Scheduler(parse_setting({**keys, "drift": drift}), make_rule(rule, **parameters), cells=cells)


@contextmanager
def _server(service: str):
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.ros", service])
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def _serve(service: str) -> None:
    import signal
    import threading

    from replan.robots.ros2.dds import Bus
    from replan.robots.ros2.messages import REQUESTS, RESPONSES
    from replan.robots.ros2.node import Names, Ros2Scheduler
    from replan.robots.ros2.scheduler_service import SchedulerService

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    bus = Bus(DOMAIN, localhost=True)
    if service == CONSTANT:
        reply = bus.serve(
            service,
            REQUESTS["1.3"],
            RESPONSES["1.3"],
            lambda call: reply(call, RESPONSES["1.3"](is_valid=True)),
        )
        while not stop.is_set():
            bus.spin(0.1)
    else:
        names = Names(service=service, planner=CONSTANT if service == FORWARDED else "")

        def make(publish, clock) -> SchedulerService:
            return SchedulerService(
                _scheduler("periodic"), decision_limit=5, planner_limit=5, publish=publish, clock=clock
            )

        Ros2Scheduler(bus, make, names=names).run(stop)
    bus.close()


if __name__ == "__main__":
    _serve(sys.argv[1])
