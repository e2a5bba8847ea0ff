"""Interpreted and compiled loops are the same function."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from replan.estimate import chain, compile_loops, interior_point, solve_pair, tiers


def as_written():
    """A copy of the module that nobody has compiled."""
    spec = importlib.util.find_spec(interior_point.__name__)
    assert spec is not None and spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("pull", [0.0, 1e-6, -1e-6])
def test_both_give_the_same_bits(seed, pull, monkeypatch):
    compile_loops()
    rng = np.random.default_rng(seed)
    nodes, m = int(rng.integers(2, 12)), int(rng.integers(2, 6))
    counts = np.zeros((nodes, m))
    counts[np.arange(nodes), rng.integers(0, m, nodes)] = rng.integers(1, 4, nodes)
    drift = np.full((nodes, m), rng.choice([1e-6, 1e-3, 0.02, 0.3, 2.0]))
    drift[-1] = 0.0
    start = np.tile(rng.dirichlet(np.full(m, 3.0)), (nodes, 1))
    given = {"wanted": np.full((nodes, m), 1 / m), "share": np.ones((nodes, m)), "pull": pull}

    def solve():
        return chain.solve_chain(counts, drift, start.copy(), np.zeros((nodes + 1, m)), **given)

    compiled = solve()
    monkeypatch.setattr(chain, "loops", lambda *_: as_written())
    interpreted = solve()
    for one, other in zip(compiled, interpreted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("earlier", [False, True])
def test_reduction_and_start_are_the_same(earlier, monkeypatch):
    rng = np.random.default_rng(1)
    times, outcomes = np.sort(rng.integers(0, 12, 9)), rng.integers(0, 4, 9)
    cumulative = 0.01 * np.arange(12.0)
    first = solve_pair(times[:-1], outcomes[:-1], cumulative, 6) if earlier else None
    compile_loops()
    compiled = solve_pair(times, outcomes, cumulative, 6, earlier=first)
    for module in (chain, importlib.import_module("replan.estimate.pair")):
        monkeypatch.setattr(module, "loops", lambda *_: as_written())
    interpreted = solve_pair(times, outcomes, cumulative, 6, earlier=first)
    for one, other in zip(compiled, interpreted, strict=True):
        np.testing.assert_array_equal(one, other)


PROCESS = """
import sys
import numpy as np
from replan.estimate import solve_pair
for observations in map(int, sys.argv[1:]):
    solve_pair(np.arange(observations), np.arange(observations) % 3, 0.02 * np.arange(observations), 5)
    print("numba" in sys.modules)
"""


def test_small_estimates_wait_for_no_compiler_and_many_have_one():
    large = tiers.INTERPRETED // 9
    ran = subprocess.run(
        [sys.executable, "-c", PROCESS, "5", "20", str(large)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["False", "False", "True"]
