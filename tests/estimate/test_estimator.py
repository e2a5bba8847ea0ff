"""Numbers and kernels are accepted up to their limits and refused just beyond."""

from functools import partial

import numpy as np
import pytest

from replan import DriftBoundedMLE, FamilyFilter, OnlineDriftBounds, PooledSlip, TrueKernel, load_setting
from replan.errors import InputError
from replan.estimate.drift_bounds import WithOnlineBounds
from replan.estimate.estimator import (
    ROW_TOLERANCE,
    Nearby,
    Observation,
    validate_kernel,
    validate_learned,
    validate_number,
)
from replan.model.general_kernel import GeneralKernel
from replan.model.slip import SlipKernel

KERNEL = GeneralKernel.from_dense([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.25, 0.75]]])


def changed(change):
    return GeneralKernel(KERNEL.successors, KERNEL.probabilities + change)


def test_numbers_from_zero_to_the_last_are_returned_as_plain_ones():
    assert [validate_number(value, 3) for value in (0, np.int8(2), np.uint64(1))] == [0, 2, 1]
    assert type(validate_number(np.int64(1), 3)) is int
    for value in (-1, 3, True, np.True_, 1.0, np.float64(1), None, "1", [1]):
        with pytest.raises(InputError, match="speed must be a whole number from 0 to 2"):
            validate_number(value, 3, "speed")


def test_rows_may_miss_one_by_a_rounding_and_no_more():
    within, beyond = 0.4 * ROW_TOLERANCE, 0.6 * ROW_TOLERANCE  # two successors a row
    for change in (within, -within):
        assert validate_kernel(changed(change), like=KERNEL)
    for change in (beyond, -beyond):
        with pytest.raises(InputError, match="not probabilities"):
            validate_kernel(changed(change), like=KERNEL)
    shifted = np.zeros_like(KERNEL.probabilities)
    shifted[0, 1] = 0.1, -0.1
    with pytest.raises(InputError, match="not probabilities"):
        validate_kernel(changed(shifted), like=KERNEL)


def test_a_kernel_has_the_states_and_the_actions_of_the_nominal_one():
    grid = SlipKernel((2, 3), 0.1)
    assert validate_kernel(grid, like=grid) is grid
    with pytest.raises(InputError, match="6 states and 5 actions, not 2 and 2"):
        validate_kernel(grid, like=KERNEL)
    fewer_actions = GeneralKernel(KERNEL.successors, KERNEL.probabilities[:, :1])
    with pytest.raises(InputError, match="2 states and 1 actions, not 2 and 2"):
        validate_kernel(fewer_actions, like=KERNEL)


def test_successors_that_are_no_states_never_reach_a_compiled_loop():
    like = GeneralKernel.from_dense(np.full((3, 2, 3), 1 / 3))
    for successor in (3, -1, 10**9):
        kernel = GeneralKernel(like.successors.copy(), like.probabilities.copy())
        kernel.successors[1, 2] = successor
        with pytest.raises(InputError, match="successor that is not a state"):
            validate_kernel(kernel, like=like)
    kernel = SlipKernel((2, 2), np.full(4, 0.1))
    kernel.slip[2] = np.nan
    with pytest.raises(InputError, match="slip of the kernel of the estimator"):
        validate_kernel(kernel, like=SlipKernel((2, 2), 0.1))


def test_rows_that_are_nearly_distributions_are_scaled():
    like = GeneralKernel.from_dense(np.full((3, 2, 3), 1 / 3))
    rounded = GeneralKernel.from_dense(np.full((3, 2, 3), np.float32(1 / 3), dtype=np.float64))
    found = validate_kernel(rounded, like=like)
    assert np.abs(rounded.probabilities.sum(axis=2) - 1).max() > 1e-9
    assert np.abs(found.probabilities.sum(axis=2) - 1).max() < 1e-15
    assert validate_kernel(like, like=like) is like


def test_lists_of_another_order_or_type_are_made_anew():
    """As saving and restoring would, so that a restored agent has the same kernel to the last bit."""
    swapped = KERNEL.successors[:, ::-1].copy(), KERNEL.probabilities[:, :, ::-1].copy()
    twice = np.array([[0, 0, 1], [0, 1, 1]]), np.zeros((2, 2, 3))
    twice[1][0, :, :2], twice[1][0, :, 2] = KERNEL.probabilities[0, :, :1] / 2, KERNEL.probabilities[0, :, 1]
    twice[1][1, :, 0], twice[1][1, :, 1:] = KERNEL.probabilities[1, :, 0], KERNEL.probabilities[1, :, 1:] / 2
    single = KERNEL.successors.astype(np.int32), KERNEL.probabilities.astype(np.float32)
    for lists in (swapped, twice, single):
        made = validate_kernel(GeneralKernel.of_merged(*lists), like=KERNEL)
        again = GeneralKernel(made.successors, made.probabilities)
        np.testing.assert_array_equal(made.dense(), KERNEL.dense())
        np.testing.assert_array_equal(made.successors, again.successors)
        np.testing.assert_array_equal(made.probabilities, again.probabilities)
        assert made.probabilities.dtype == np.float64


class Emptyhanded:
    """Has all that the protocol of kernels asks for, and no lists."""

    states = actions = 2

    def __getattr__(self, name):
        return lambda *arguments: None


def test_a_kernel_without_lists_is_refused():
    with pytest.raises(InputError, match="returned Emptyhanded, not a kernel"):
        validate_kernel(Emptyhanded(), like=KERNEL)


WORLD = load_setting("two-burst").build()
ESTIMATORS = {
    "true kernel": lambda: TrueKernel(WORLD),
    "nearby": lambda: Nearby(WORLD, 2),
    "pooled slip": lambda: PooledSlip(WORLD.kernel(0), WORLD.drift_bounds, evidence="intervals"),
    "family": lambda: FamilyFilter(WORLD.family, WORLD.drift_bounds, start=WORLD.kernel(0)),
    "bounded": lambda: DriftBoundedMLE(WORLD.kernel(0), WORLD.drift_bounds),
    "online": lambda: WithOnlineBounds(
        partial(DriftBoundedMLE, WORLD.kernel(0)), partial(OnlineDriftBounds, WORLD.kernel(0), WORLD.horizon)
    ),
}
SEEN = [
    Observation(1, 1, 0, 0, (0,)),
    Observation(6, 27, 26, 0, (0, 2, 2, 0, 0)),
    Observation(9, 51, 39, 2, (2, 0, 2)),
    Observation(20, 90, None, 2, (2,) * 11),
    Observation(30, 143, 142, 0, (0,) * 10),
]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_is_a_function_of_what_was_learned_and_is_seen(name):
    estimator, found = ESTIMATORS[name](), []
    learned = validate_learned(estimator.begin())
    for seen in SEEN:
        kept = {key: array.copy() for key, array in learned.items()}
        for array in learned.values():
            array.flags.writeable = False  # what was learned is never changed in place
        found.append((seen, kept, *estimator.estimate(learned, seen)))
        learned = validate_learned(found[-1][2])
    other = ESTIMATORS[name]()
    for seen, before, after, kernel in found[::-1]:
        learned, again = other.estimate(before, seen)
        assert again.entrywise_distance(kernel).max() == 0
        assert learned.keys() == after.keys()
        for key, array in learned.items():
            np.testing.assert_array_equal(array, after[key])


def test_what_is_learned_is_arrays_of_numbers():
    assert validate_learned({"share": 0.5})["share"] == np.array(0.5)
    with pytest.raises(InputError, match="the estimator learned list, not arrays by name"):
        validate_learned([1])
    with pytest.raises(InputError, match="the estimator learned 'name', which is no array of numbers"):
        validate_learned({"name": np.array(["a"])})
