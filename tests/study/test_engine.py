"""The loop around any engine: every cell once, whatever is lost on the way."""

import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from replan.errors import InputError
from replan.results.measure import Measure
from replan.study.engine import BATCH_SAMPLES, LOSSES_ALLOWED, Batches, drive, make_engine
from replan.study.local import interrupts_handled_by
from replan.study.measures import Exact
from replan.study.work import Failure


@dataclass(frozen=True)
class FakeCell:
    key: int
    seeds: tuple[int, int] = (0, 10)
    measure: tuple[type[Measure], ...] = (Exact,)


@dataclass
class FakeEngine:
    """Computes in `wait`; loses the batches that `loses` names, all that are under way with them."""

    loses: object = lambda batch: False
    seconds: float = 0.01
    name: str = "fake"
    workers: int = 2
    slots: int = 4
    batches: list = field(default_factory=list)
    most: int = 0
    under_way: dict = field(default_factory=dict)

    def submit(self, batch):
        self.batches.append(batch)
        self.under_way[len(self.batches)] = batch
        self.most = max(self.most, len(self.under_way))
        return len(self.batches)

    def wait(self, handles, timeout):
        assert set(handles) == set(self.under_way)
        if any(self.loses(batch) for batch in self.under_way.values()):
            lost, self.under_way = self.under_way, {}
            return [(handle, None) for handle in lost]
        handle = max(handles)
        batch = self.under_way.pop(handle)
        return [(handle, [Failure(cell.key, self.seconds, "", "") for cell in batch])]

    def close(self):
        pass


def keys(outcomes):
    return sorted(outcome.key for part in outcomes for outcome in part)


def test_every_cell_is_computed_once_and_few_are_under_way():
    engine = FakeEngine()
    assert keys(drive(engine, [FakeCell(k) for k in range(1000)])) == list(range(1000))
    assert engine.most == engine.slots
    assert sum(map(len, engine.batches)) == 1000


def test_batches_grow_to_about_a_second_and_shrink_at_the_end():
    engine = FakeEngine(seconds=0.01)
    list(drive(engine, [FakeCell(k) for k in range(5000)]))
    sizes = [len(batch) for batch in engine.batches]
    assert sizes[0] == 1
    assert max(sizes) == 100
    assert sizes[-1] == 1


def test_batches_stay_within_the_samples_that_fit_in_memory():
    cells = [FakeCell(k, (0, BATCH_SAMPLES // 3)) for k in range(100)]
    engine = FakeEngine(seconds=1e-9)
    list(drive(engine, cells))
    assert max(len(batch) for batch in engine.batches) == 3


def test_slow_cells_travel_alone():
    engine = FakeEngine(seconds=5.0)
    list(drive(engine, [FakeCell(k) for k in range(20)]))
    assert {len(batch) for batch in engine.batches} == {1}


def test_a_worker_lost_once_costs_nothing_but_time():
    lost = []

    def once(batch):
        if len(batch) > 5 and not lost:
            lost.append(batch)
            return True
        return False

    engine = FakeEngine(loses=once)
    found = [outcome for part in drive(engine, [FakeCell(k) for k in range(300)]) for outcome in part]
    assert lost
    assert sorted(outcome.key for outcome in found) == list(range(300))
    assert not any("WorkerLost" in outcome.reason for outcome in found)


def test_a_cell_that_kills_its_worker_is_the_only_one_to_fail():
    engine = FakeEngine(loses=lambda batch: any(cell.key == 77 for cell in batch))
    found = [outcome for part in drive(engine, [FakeCell(k) for k in range(300)]) for outcome in part]
    assert sorted(outcome.key for outcome in found) == list(range(300))
    assert [outcome.key for outcome in found if "WorkerLost" in outcome.reason] == [77]
    assert sum(batch == (FakeCell(77),) for batch in engine.batches) == LOSSES_ALLOWED


def test_no_cells_no_batches():
    assert Batches([], workers=2).next() is None
    assert list(drive(FakeEngine(), [])) == []


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("slurm", {}, "--engine must be local or ray"),
        ("local", {"workers": 0}, "--workers must be at least 1"),
        ("ray", {"workers": 0}, "--workers must be at least 1"),
        ("local", {"address": "auto"}, "--address goes with --engine ray"),
    ],
)
def test_an_engine_that_cannot_be_is_one_line(name, options, said):
    with pytest.raises(InputError, match=said):
        make_engine(name, **options)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_the_handler_of_interrupts_is_put_back_and_left_alone_in_other_threads(handler):
    def handled():
        with interrupts_handled_by(handler):
            return signal.getsignal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    assert handled() == handler
    with ThreadPoolExecutor() as pool:
        assert pool.submit(handled).result() == before
    assert signal.getsignal(signal.SIGINT) == before
