"""A robot's side over real DDS, which publishes paths and asks IsPathValid; and `replan ros` as a process."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from replan.robots.ros2 import messages
from replan.robots.ros2.dds import Bus

PATIENT = 30.0  # seconds until a wait is given up, on a machine however busy


@contextmanager
def own_domain():
    """A DDS domain that no other test on this machine uses meanwhile."""
    for domain in range(1, 101):
        with (Path(tempfile.gettempdir()) / f"replan-test-domain-{domain}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield domain
            return
    raise RuntimeError("every DDS domain is taken")


class Robot:
    """Nav2's side of one domain."""

    def __init__(self, domain, nav2="1.3", service="/replan/is_path_valid"):
        self.bus = Bus(domain, localhost=True)
        self.nav2 = nav2
        self.heard = {"diagnostics": [], "due": []}
        self.bus.subscribe("/diagnostics", messages.DiagnosticArray, self.heard["diagnostics"].append)
        self.bus.subscribe("/replan/due", messages.Bool, self.heard["due"].append, latched=True)
        self.plan = self.bus.publisher("/plan", messages.Path)
        self.pose = self.bus.publisher("/amcl_pose", messages.PoseWithCovarianceStamped)
        self.validity = self.client(service, nav2)
        self.status_client = self.bus.client(
            "/replan/status", messages.TriggerRequest, messages.TriggerResponse
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.bus.close()

    def client(self, service, nav2):
        return self.bus.client(service, messages.REQUESTS[nav2], messages.RESPONSES[nav2])

    def wait(self, ready):
        """Pass on messages until the condition holds."""
        end = time.monotonic() + PATIENT
        while not ready():
            assert time.monotonic() < end, "nothing happened for too long"
            self.bus.spin(0.02)

    def ready(self):
        self.wait(lambda: self.validity.ready and self.status_client.ready)

    def reply(self, pending):
        self.wait(pending.done)
        return pending.result()

    def ask(self, poses=3):
        path = path_message([(1.25, 1.25)] * poses)
        return self.reply(self.validity.call(messages.REQUESTS[self.nav2](path=path)))

    def status(self):
        return json.loads(self.reply(self.status_client.call(messages.TriggerRequest())).message)

    def until_status(self, holds):
        """Ask for the status until it is as wanted."""
        end = time.monotonic() + PATIENT
        while not holds(status := self.status()):
            assert time.monotonic() < end, status
        return status

    def send_path(self, points, stamp):
        """Publish a path until the scheduler has seen it: the first message after discovery can be lost."""
        before = self.status().get("paths", 0)
        end = time.monotonic() + PATIENT
        while self.status().get("paths", 0) <= before:
            assert time.monotonic() < end
            self.plan(path_message(points, stamp))


def path_message(points, stamp=0.0):
    poses = [messages.PoseStamped(pose=messages.Pose(messages.Point(x, y))) for x, y in points]
    return messages.Path(messages.Header(messages.make_stamp(stamp), "map"), poses)


class Process:
    """`replan ros` in a process of its own."""

    def __init__(self, setting, domain, *options):
        always = ("--localhost", "--decision-limit", "20", "--domain", str(domain))
        self.arguments = [str(setting), *always, *map(str, options)]
        self.start()

    def start(self):
        command = [sys.executable, "-m", "replan", "ros", *self.arguments]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"MPLBACKEND": "Agg"},
        )
        line = self.process.stderr.readline()
        assert "answering" in line, line + self.process.stderr.read()

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=PATIENT)
        return self.process.returncode, out, err

    def memory(self):
        """Resident bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def running(setting, domain, *options):
    server = Process(setting, domain, *options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()
