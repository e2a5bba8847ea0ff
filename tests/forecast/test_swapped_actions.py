"""Without a family, a kernel may change so that each action does what another one did."""

import numpy as np
import pytest

from replan.forecast import Evidence, Mixture, mean_kernel
from replan.forecast.swapped_actions import swapped_actions
from replan.model import SlipKernel
from tiny_worlds import random_kernel

SWAPPED = "actions swap"


def evidence_of(kernel, pace=0.05, time=3, horizon=12):
    return Evidence(time, horizon, kernel, kernel, np.full(time, pace))


def test_each_action_comes_to_do_what_the_one_before_it_does():
    kernel = random_kernel(np.random.default_rng(0), 5, 3)
    rows = kernel.general().probabilities
    swapped = swapped_actions(kernel)(10.0).general()
    np.testing.assert_allclose(swapped.probabilities, rows[:, [2, 0, 1]])
    np.testing.assert_array_equal(swapped.successors, kernel.general().successors)


def test_no_entry_moves_by_more_than_the_drift_bounds_allow():
    rng = np.random.default_rng(1)
    for _ in range(20):
        kernel = random_kernel(rng, 4, 2)
        pace = rng.uniform(0.01, 0.2)
        found = {future.name: future for future in Mixture().futures(evidence_of(kernel, pace))}
        furthest = swapped_actions(kernel)(10.0).entrywise_distance(kernel).max()
        for t in range(3, 12):
            moved = found[SWAPPED].kernel(t).entrywise_distance(kernel).max()
            assert moved == pytest.approx(min(pace * (t - 2), furthest), abs=1e-12)


def test_no_plan_is_made_for_it():
    kernel = random_kernel(np.random.default_rng(2), 4, 2)
    futures = Mixture().futures(evidence_of(kernel))
    without = [future for future in futures if future.name != SWAPPED]
    assert [future.name for future in futures if not future.planned] == [SWAPPED]
    for t in (3, 7, 11):
        np.testing.assert_allclose(
            mean_kernel(futures)(t).general().probabilities,
            mean_kernel(without)(t).general().probabilities,
        )


def test_actions_of_a_grid_keep_their_direction():
    names = {future.name for future in Mixture().futures(evidence_of(SlipKernel((3, 3), 0.2)))}
    assert SWAPPED not in names
