"""The cluster of the docs, of real `ray start` processes on this machine, whatever happens to it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from study_runs import LONG_CELLS, LONG_STUDY, write_study

pytestmark = pytest.mark.slow
TIMEOUT = 300
LONGER_STUDY = LONG_STUDY.replace("n = [4, 5, 6], horizon = [50]", "n = [8, 9, 10], horizon = [60, 80, 100]")
"""Takes longer than the second line of progress does."""
SMALL = 'settings = [{ base = "two-burst", vary = { n = [3], budget = [2, 3] } }]\nrules = ["periodic"]\n'


class Nodes:
    """A head and a second node, each with all its processes in a session of its own."""

    def __init__(self, home: Path) -> None:
        self.environment = {**os.environ, "HOME": str(home), "RAY_USAGE_STATS_ENABLED": "0"}
        self.environment.pop("RAY_AUTH_MODE", None)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        self.head = self._start("--head", f"--port={port}", "--include-dashboard=false")
        self._await(lambda: self._answers())
        self.second = self._start(f"--address={self.address}")

    def _start(self, *arguments: str) -> subprocess.Popen:
        ray = Path(sys.executable).with_name("ray")
        command = [str(ray), "start", "--block", "--num-cpus=1", "--object-store-memory=80000000", *arguments]
        return subprocess.Popen(
            command,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _answers(self) -> bool:
        host, _, port = self.address.partition(":")
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            return False
        return True

    def _await(self, happened) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not happened():
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def kill(self, node: subprocess.Popen) -> None:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
                except OSError:
                    continue
                if session == node.pid:
                    os.kill(int(entry.name), signal.SIGKILL)
        node.wait(TIMEOUT)

    def run(self, *arguments: object) -> subprocess.Popen:
        command = [sys.executable, "-m", "replan.cli", "run", *map(str, arguments), "--engine", "ray"]
        return subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


@pytest.fixture
def nodes(tmp_path):
    found = []

    def make() -> Nodes:
        found.append(Nodes(tmp_path))
        return found[-1]

    yield make
    for each in found:
        for node in (each.second, each.head):
            each.kill(node)


def finished(driver) -> dict:
    output, errors = driver.communicate(timeout=TIMEOUT)
    assert driver.returncode == 0, errors
    return json.loads(output)


def test_the_recipe_of_the_docs_works_before_and_after_a_local_run(nodes, tmp_path):
    study = write_study(tmp_path, SMALL)
    first = nodes()
    assert (
        finished(first.run(study, "--out", tmp_path / "a", "--address", first.address, "--json"))["computed"]
        == 2
    )
    local = first.run(study, "--out", tmp_path / "b", "--workers", "1", "--json")
    assert finished(local)["computed"] == 2
    assert not (tmp_path / ".ray" / "auth_token").exists()
    again = nodes()
    assert (
        finished(again.run(study, "--out", tmp_path / "c", "--address", again.address, "--json"))["computed"]
        == 2
    )


def test_a_cluster_that_demands_a_token_is_given_the_users(nodes, tmp_path):
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("a" * 64)
    study = write_study(tmp_path, SMALL)
    guarded = nodes()
    run = (study, "--address", guarded.address, "--json")
    assert finished(guarded.run(*run, "--out", tmp_path / "a"))["computed"] == 2
    (tmp_path / ".ray" / "auth_token").write_text("b" * 64)
    refused = guarded.run(*run, "--out", tmp_path / "b")
    output, errors = refused.communicate(timeout=TIMEOUT)
    assert refused.returncode == 2 and output == ""
    assert errors.splitlines()[-1].startswith("replan: cannot reach") and "oken" in errors.splitlines()[-1]


def under_way(driver) -> None:
    """Wait for the second line of progress: cells are being computed."""
    driver.stderr.readline()
    driver.stderr.readline()


def test_a_node_that_is_killed_leaves_the_answer_clean(nodes, tmp_path):
    cluster = nodes()
    study = write_study(tmp_path, LONG_STUDY)
    driver = cluster.run(study, "--out", tmp_path / "run", "--address", cluster.address, "--json")
    store = tmp_path / "run" / "store.duckdb"
    cluster._await(lambda: store.exists() or driver.poll() is not None)
    cluster.kill(cluster.second)
    assert finished(driver)["computed"] == LONG_CELLS


def test_a_head_that_is_killed_ends_the_run_with_a_line_that_says_how_to_go_on(nodes, tmp_path):
    cluster = nodes()
    study = write_study(tmp_path, LONGER_STUDY)
    driver = cluster.run(study, "--out", tmp_path / "run", "--address", cluster.address)
    under_way(driver)
    cluster.kill(cluster.head)
    _, errors = driver.communicate(timeout=TIMEOUT)
    assert driver.returncode != 0
    (said,) = [line for line in errors.splitlines() if line.startswith("replan: ")]
    assert "--resume" in said
