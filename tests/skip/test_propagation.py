"""Which actions a blind robot prefers, and ways of acting that do not exist."""

import numpy as np
import pytest

from replan.errors import InputError
from replan.model import Reward, SlipKernel, constant
from replan.planning import Ties, plan
from replan.skip import make_propagation

KERNEL = SlipKernel((3, 3), 0.1)
PLAN = plan(KERNEL, constant(Reward(next_state=np.zeros(9))), time=2, horizon=2)


def test_the_order_of_preference_is_that_of_the_tie_rule():
    assert Ties("first").preference(0, 4).tolist() == [0, 1, 2, 3]
    assert Ties("last").preference(0, 4).tolist() == [3, 2, 1, 0]
    drawn = [Ties("random", 1).preference(time, 4) for time in range(30)]
    assert all(sorted(order) == [0, 1, 2, 3] for order in drawn)
    assert len({tuple(order) for order in drawn}) > 10, "another order for each plan"
    for time, order in enumerate(drawn):
        assert order[0] == Ties("random", 1).choose(np.zeros((1, 4)), plan_time=time)[0]


def test_a_robot_begins_where_it_sees_itself():
    map_robot, belief_robot = (make_propagation(kind, PLAN, KERNEL) for kind in ("map", "belief"))
    assert map_robot.begin([3, 8]).tolist() == [3, 8]
    np.testing.assert_array_equal(belief_robot.begin(np.array([3, 8])), np.eye(9)[[3, 8]])


def test_another_way_of_acting_is_refused_by_its_name():
    with pytest.raises(InputError, match=r'must be "map" or "belief", not .guess'):
        make_propagation("guess", PLAN, KERNEL)  # type: ignore[arg-type]
