"""Parts that are done are not done again."""

import pytest

from replan.study import parts
from replan.study.parts import kept_parts, run_parts

done: list[tuple[int, int]] = []


def add(one: int, other: int) -> int:
    done.append((one, other))
    if other < 0:
        raise KeyboardInterrupt
    return one + other


@pytest.fixture(autouse=True)
def fresh():
    done.clear()


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        list(run_parts(add, [(1, 1), (1, 2), (1, -1), (1, 3)], workers=1, kept=tmp_path))
    assert done == [(1, 1), (1, 2), (1, -1)]
    done.clear()
    assert list(run_parts(add, [(1, 1), (1, 2), (1, 3)], workers=1, kept=tmp_path)) == [2, 3, 4]
    assert done == [(1, 3)]
    assert kept_parts(add, [(1, 2), (7, 7), (1, 3)], kept=tmp_path) == [3, 4]


def test_other_code_starts_afresh(tmp_path, monkeypatch):
    assert list(run_parts(add, [(1, 1)], workers=1, kept=tmp_path)) == [2]
    monkeypatch.setattr(parts, "code_version", lambda: "another")
    assert kept_parts(add, [(1, 1)], kept=tmp_path) == []


def test_a_damaged_part_is_done_again(tmp_path):
    assert list(run_parts(add, [(1, 1)], workers=1, kept=tmp_path)) == [2]
    (damaged,) = tmp_path.glob("*.pickle")
    damaged.write_bytes(damaged.read_bytes()[:-2])
    assert list(run_parts(add, [(1, 1)], workers=1, kept=tmp_path)) == [2]
    assert done == [(1, 1), (1, 1)]


def test_processes_give_the_same_in_the_same_order(tmp_path):
    tasks = [(k, k) for k in range(6)]
    assert list(run_parts(max, tasks, workers=2, kept=tmp_path)) == list(range(6))
    assert kept_parts(max, tasks, kept=tmp_path) == list(range(6))
