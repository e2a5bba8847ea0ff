"""Where a robot believes to be between updates, and ways of acting that do not exist."""

import numpy as np
import pytest

from replan.errors import InputError
from replan.model import Reward, SlipKernel, constant
from replan.planning import plan
from replan.skip import make_propagation
from replan.skip.propagation import skip_interval

KERNEL = SlipKernel((3, 3), 0.1)
PLAN = plan(KERNEL, constant(Reward(next_state=np.zeros(9))), time=2, horizon=2)


def test_a_robot_begins_where_it_sees_itself():
    map_robot, belief_robot = (make_propagation(kind, PLAN, KERNEL) for kind in ("map", "belief"))
    assert map_robot.begin([3, 8]).tolist() == [3, 8]
    np.testing.assert_array_equal(belief_robot.begin(np.array([3, 8])), np.eye(9)[[3, 8]])


def test_another_way_of_acting_is_refused_by_its_name():
    with pytest.raises(InputError, match=r'must be "map" or "belief", not .guess'):
        make_propagation("guess", PLAN, KERNEL)  # type: ignore[arg-type]


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_sparse_distributions_are_the_dense_ones(execution):
    reward = constant(Reward(next_state=np.arange(9.0)))
    kernels = [SlipKernel((3, 3), slip) for slip in (0.1, 0.5, 0.9)]
    robot = make_propagation(execution, plan(KERNEL, reward, time=0, horizon=3), KERNEL)
    dense, sparse = (
        list(skip_interval(kernels.__getitem__, reward, robot, np.array([4, 0]), begin=0, end=3, sparse=kind))
        for kind in (False, True)
    )
    assert len(dense) == 3
    for one, other in zip(dense, sparse, strict=True):
        np.testing.assert_array_equal(other.actions, one.actions)
        np.testing.assert_allclose(other.after.toarray(), one.after, atol=1e-12)
        np.testing.assert_allclose(other.reward, one.reward, atol=1e-12)
