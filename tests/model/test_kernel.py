"""Two implementations of one interface, and plain arrays as the judge."""

import multiprocessing
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from replan import GeneralKernel, InputError, SlipKernel
from replan.model.kernel import band_results
from tiny_worlds import random_kernel


@st.composite
def slip_kernels(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    cells = shape[0] * shape[1]

    def kernel():
        slip = rng.uniform(0, 0.9, size=cells if field else 1)
        return SlipKernel(shape, slip, law=rng.dirichlet(np.ones(5)) if windy else None, blocked=blocked)

    field, windy = draw(st.booleans()), draw(st.booleans())
    blocked = rng.random(cells) < 0.3 if draw(st.booleans()) else None
    return kernel(), kernel(), rng


def slip_by_hand(kernel: SlipKernel) -> np.ndarray:
    """The paper's formula, cell by cell, with clipping and blocked cells spelt out."""
    rows, columns = kernel.shape
    blocked = np.broadcast_to(kernel.blocked, (rows * columns,))
    slip = np.broadcast_to(kernel.slip, (rows * columns,))

    def moved(s, a):
        i, j = divmod(s, columns)
        di, dj = [(0, 1), (0, -1), (1, 0), (-1, 0), (0, 0)][a]
        to = min(max(i + di, 0), rows - 1) * columns + min(max(j + dj, 0), columns - 1)
        return s if blocked[to] else to

    dense = np.zeros((rows * columns, 5, rows * columns))
    for s in range(rows * columns):
        for a in range(5):
            dense[s, a, moved(s, a)] += 1 - slip[s]
            for other in range(5):
                dense[s, a, moved(s, other)] += slip[s] * kernel.law[other]
    return dense


@given(slip_kernels())
def test_slip_kernel_is_the_papers_formula_and_agrees_with_the_general_one(case):
    kernel, other, rng = case
    dense, states = slip_by_hand(kernel), kernel.states
    general = GeneralKernel.from_dense(dense)
    np.testing.assert_allclose(kernel.general().dense(), dense, atol=1e-15)
    values = rng.normal(size=states)
    mass, actions = rng.dirichlet(np.ones(states), size=6), rng.integers(0, 5, size=6)
    for one in (kernel, general):
        np.testing.assert_allclose(one.expect(values), dense @ values, atol=1e-12)
        np.testing.assert_allclose(one.backup(values), (dense @ values).max(axis=1), atol=1e-12)
        pushed = np.stack([row @ dense[:, a] for row, a in zip(mass, actions, strict=True)])
        np.testing.assert_allclose(one.push(mass, actions), pushed, atol=1e-12)
        best = dense.max(axis=2, keepdims=True)
        np.testing.assert_array_equal(one.most_likely(), (dense >= best - 1e-9).argmax(axis=2))
        change = np.abs(dense - slip_by_hand(other))
        np.testing.assert_allclose(one.entrywise_distance(other), change.max(axis=2), atol=1e-12)
        np.testing.assert_allclose(one.total_variation(other), change.sum(axis=2) / 2, atol=1e-12)


@given(slip_kernels())
def test_samples_follow_the_probabilities(case):
    kernel, _, rng = case
    uniforms = (np.arange(20_000) + 0.5) / 20_000
    s, a = int(rng.integers(kernel.states)), int(rng.integers(5))
    rows = np.full(len(uniforms), s), np.full(len(uniforms), a)
    for one in (kernel, kernel.general()):
        frequency = np.bincount(one.sample(*rows, uniforms), minlength=kernel.states) / len(uniforms)
        np.testing.assert_allclose(frequency, kernel.general().dense()[s, a], atol=2e-4)


def test_a_uniform_number_just_below_one_reaches_a_possible_successor():
    kernel = GeneralKernel([[0, 1], [0, 1]], [[[1 - 1e-16, 0.0]], [[0.1, 0.9]]])
    assert kernel.sample(np.array([0]), np.array([0]), np.array([np.nextafter(1.0, 0)]))[0] == 0


def test_equal_successors_are_one_entry():
    kernel = GeneralKernel([[1, 0, 1], [1, 1, 1]], [[[0.3, 0.4, 0.3]], [[0.2, 0.3, 0.5]]])
    assert kernel.most_likely()[0, 0] == 1, "0.3 + 0.3 beats 0.4 once merged"
    np.testing.assert_allclose(kernel.dense()[:, 0], [[0.4, 0.6], [0.0, 1.0]])


def test_ties_of_the_most_likely_successor_go_to_the_lowest_state():
    kernel = GeneralKernel([[2, 1, 0]] * 3, [[[0.4 + 1e-10, 0.4, 0.2]]] * 3)
    assert (kernel.most_likely() == 1).all()


@pytest.mark.parametrize("seed", range(5))
def test_dense_and_sparse_arrays_load_alike(seed):
    dense = random_kernel(np.random.default_rng(seed), 5, 3).dense()
    sparse = GeneralKernel.from_sparse([csr_array(dense[:, a]) for a in range(3)])
    np.testing.assert_allclose(sparse.dense(), dense, atol=1e-15)
    np.testing.assert_allclose(GeneralKernel.from_dense(dense).dense(), dense, atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_sparse_distributions_are_pushed_as_dense_ones(seed):
    generator = np.random.default_rng(seed)
    kernel, actions = random_kernel(generator, 6, 3), generator.integers(3, size=4)
    dense = generator.dirichlet(np.ones(6), size=4) * (generator.uniform(size=(4, 6)) < 0.5)
    np.testing.assert_allclose(
        kernel.push(csr_array(dense), actions).toarray(), kernel.push(dense, actions), atol=1e-15
    )


@pytest.mark.parametrize(
    ("successors", "probabilities", "said"),
    [
        ([[0, 3], [0, 1]], np.ones((2, 1, 2)) / 2, "a successor of s=0 is not a state"),
        ([[0, 1]], np.ones((2, 1, 2)), "do not fit together"),
        ([0, 1], np.ones((2, 1, 2)), "successors (S, k)"),
        ([[0.5, 1.0], [0.0, 1.0]], np.ones((2, 1, 2)), "whole numbers"),
    ],
)
def test_kernels_that_make_no_sense_are_refused(successors, probabilities, said):
    with pytest.raises(InputError, match=said.replace("(", r"\(").replace(")", r"\)")):
        GeneralKernel(successors, probabilities)


def test_drift_of_the_rover_is_four_fifths_of_the_change_in_slip():
    before, after = SlipKernel((12, 12), 0.10), SlipKernel((12, 12), 0.13)
    assert before.entrywise_distance(after).max() == pytest.approx(0.8 * 0.03)


@pytest.mark.parametrize("law", [[np.nan] * 5, [0.5, 0.5, 0.5, -0.5, 0], [0.2] * 4, [0.3] * 5])
def test_a_law_that_is_none_is_refused(law):
    with pytest.raises(InputError, match="law must be five probabilities"):
        SlipKernel((3, 3), 0.1, law=law)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (-1, -2)])
def test_a_grid_without_cells_is_refused(shape):
    with pytest.raises(InputError, match="at least one row and one column"):
        SlipKernel(shape, 0.1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_of_a_process_that_used_threads_has_threads_of_its_own():
    kernel, values = SlipKernel((100, 100), 0.2), np.arange(10_000.0)
    before = kernel.expect(values)

    def again():
        os._exit(0 if np.array_equal(kernel.expect(values), before) else 1)

    fork = multiprocessing.get_context("fork").Process(target=again)
    fork.start()
    fork.join(60)
    fork.kill()
    assert fork.exitcode == 0


def test_loops_run_in_no_more_threads_than_numba_is_given(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    for given_threads, bands in (("1", 1), ("2", 2), ("8", 3), ("", 3), ("0", 3), ("all", 3)):
        monkeypatch.setenv("NUMBA_NUM_THREADS", given_threads)
        assert len(band_results(lambda first, last: last, 12, serial=False)) == bands
