"""The ray engine on a cluster of two nodes on this machine: the tables of the local engine, whatever dies."""

import os

import pytest

from replan.cli import run
from replan.errors import InputError
from replan.study.definition import load_study
from replan.study.engine import make_engine
from replan.study.ray_engine import RayEngine
from replan.study.runner import run_study
from replan.study.store import Store
from study_runs import CELLS, tables, write_study

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
        for _, outcomes in found:
            self.nodes |= {parent(outcome.worker) for outcome in outcomes or ()}
        if self.node is not None and len(self.nodes) == 2:
            self.cluster.remove_node(self.node, allow_graceful=False)
            self.node = None
        return found


def parent(worker):
    """The process that a worker on this machine belongs to: the raylet of its node."""
    pid = worker.rpartition(":")[2]
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[1]


def test_two_nodes_one_of_which_dies_give_the_tables_of_the_local_engine(cluster, tmp_path):
    path = write_study(tmp_path)
    study, text = load_study(path)
    engine = LosesANode(cluster, cluster.add_node(**NODE))
    assert engine.workers == 2
    report = run_study(study, text, tmp_path / "ray", engine=lambda: engine, quiet=True)
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
    assert run([*arguments, "--engine", "ray", "--address", cluster.address]) == 0
    assert '"computed": 2' in capsys.readouterr().out


def test_a_cluster_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setenv("RAY_gcs_server_request_timeout_seconds", "1")
    with pytest.raises(InputError, match="cannot reach the Ray cluster at nowhere"):
        make_engine("ray", address="nowhere")
