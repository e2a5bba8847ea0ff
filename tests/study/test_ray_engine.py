"""The ray engine on a cluster of two nodes on this machine: the tables of the local engine, whatever dies."""

import os
import signal
import socket
from contextlib import closing

import pytest

from replan.cli import run
from replan.errors import InputError
from replan.results.store import Store
from replan.study.definition import load_study
from replan.study.engine import make_engine
from replan.study.ray_engine import RayEngine
from replan.study.runner import run_study
from study_runs import CELLS, start, tables, write_study

RAY = ("--engine", "ray", "--address")
TIMEOUT = 120
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    yield found
    found.shutdown()


class LosesANode(RayEngine):
    """Kills one of the two nodes as soon as both have computed something."""

    def __init__(self, cluster, node) -> None:
        super().__init__(address=cluster.address)
        self.cluster, self.node, self.nodes = cluster, node, set()

    def wait(self, handles, timeout):
        found = super().wait(handles, timeout)
        if self.node is not None:  # a killed node's workers are gone while their results still come
            for _, outcomes in found:
                self.nodes |= {parent(outcome.worker) for outcome in outcomes or ()}
            if len(self.nodes) == 2:
                self.cluster.remove_node(self.node, allow_graceful=False)
                self.node = None
        return found


def parent(worker):
    """The process that a worker on this machine belongs to: the raylet of its node."""
    pid = worker.rpartition(":")[2]
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[1]


@pytest.mark.slow
def test_two_nodes_one_of_which_dies_give_the_tables_of_the_local_engine(cluster, tmp_path):
    path = write_study(tmp_path)
    study, text = load_study(path)
    engine = LosesANode(cluster, cluster.add_node(**NODE))
    assert engine.workers == 2
    with closing(engine):
        report = run_study(study, text, tmp_path / "ray", engine=engine, quiet=True)
    assert engine.node is None, "both nodes had work, and one was killed"
    assert (report.computed, report.failed, report.missing) == (CELLS, 0, 0)
    with Store.open(tmp_path / "ray") as store:
        assert store.execute("select engine from starts") == [("ray",)]
        assert store.execute("select count(*), count(distinct cell) from timings") == [(CELLS, CELLS)]
    for name in ("ray", "local"):
        assert run(["run", str(path), "--out", str(tmp_path / name), "--resume", "--json"]) == 0
    assert tables(tmp_path / "ray") == tables(tmp_path / "local")


def test_the_command_line_uses_a_cluster_that_runs(cluster, tmp_path, capsys):
    text = 'settings = [{ base = "two-burst", vary = { n = [3] } }]\nrules = ["periodic", "random"]\n'
    arguments = ["run", str(write_study(tmp_path, text)), "--out", str(tmp_path / "run"), "--json"]
    assert run([*arguments, *RAY, cluster.address]) == 0
    assert '"computed": 2' in capsys.readouterr().out


def test_a_head_that_cannot_be_written_to_any_more_is_one_line_that_says_how_to_go_on(
    cluster, tmp_path, capfd, monkeypatch
):
    def fails(*_, **__):
        raise OSError("Broken pipe")  # as Ray raises it, without a number

    monkeypatch.setattr("ray.wait", fails)
    arguments = ["run", str(write_study(tmp_path)), "--out", str(tmp_path / "run"), *RAY, cluster.address]
    assert run(arguments) == 2
    (said,) = [line for line in capfd.readouterr().err.splitlines() if line.startswith("replan: ")]
    assert "--resume" in said
    monkeypatch.undo()
    assert run([*arguments, "--resume"]) == 0


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_port_on_which_nothing_listens_is_one_line_and_leaves_no_store(tmp_path, capsys, scheme):
    with socket.create_server(("127.0.0.1", 0)) as closed_at_once:
        address = f"{scheme}127.0.0.1:{closed_at_once.getsockname()[1]}"
    out = tmp_path / "run"
    assert run(["run", str(write_study(tmp_path)), "--out", str(out), *RAY, address]) == 2
    assert (
        capsys.readouterr().err == f"replan: cannot reach the Ray cluster at {address}: Connection refused\n"
    )
    assert not out.exists()


@pytest.mark.parametrize("address", ["nowhere", "", "here:port", "host:99999999", "ray://", ":6379"])
def test_an_address_without_host_or_port_is_one_line(address):
    with pytest.raises(InputError, match=f"--address must be auto or HOST:PORT, not '{address}'"):
        make_engine("ray", address=address)


def test_ctrl_c_ends_the_wait_for_something_that_listens_and_is_no_cluster(tmp_path):
    with socket.create_server(("", 0)) as deaf:
        deaf.settimeout(TIMEOUT)
        address = f"127.0.0.1:{deaf.getsockname()[1]}"
        driver = start("run", write_study(tmp_path), "--out", tmp_path / "run", *RAY, address)
        try:
            with deaf.accept()[0], deaf.accept()[0]:  # the probe, and then Ray
                driver.send_signal(signal.SIGINT)
                driver.communicate(timeout=TIMEOUT)
        finally:
            driver.kill()
    assert driver.returncode == -signal.SIGINT
    assert not (tmp_path / "run").exists()
