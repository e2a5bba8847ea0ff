"""The states that steps can lead to, and what is restricted to them."""

import numpy as np

from replan.model.general_kernel import GeneralKernel
from replan.model.reach import Reach, Window
from replan.model.reward import Reward
from replan.model.slip import SlipKernel


def test_states_come_in_the_order_in_which_steps_lead_to_them():
    nested = Reach.from_start([SlipKernel((50, 50), 0.1).destinations()], 25 * 50 + 25, 3)
    assert nested.counts == (1, 5, 13, 25)
    rows, columns = np.divmod(nested.states, 50)
    assert (np.diff(abs(rows - 25) + abs(columns - 25)) >= 0).all()


def test_the_states_of_several_kernels_are_those_that_any_of_them_leads_to():
    right, left = (np.arange(30)[:, None] + [0, step] for step in (1, -2))
    reach = Reach.from_start([right % 30, left % 30], 10, 2).in_order()
    np.testing.assert_array_equal(reach.states, [6, 8, 9, 10, 11, 12])
    np.testing.assert_array_equal(reach.inside(reach.states), np.arange(6))
    np.testing.assert_array_equal(reach.outside(np.arange(6)), reach.states)


def test_a_kernel_on_a_part_is_that_of_the_whole_but_for_steps_that_leave_it():
    rng = np.random.default_rng(0)
    kernel = GeneralKernel.from_dense(rng.dirichlet(np.ones(6), (6, 2)))
    reach = Reach(6, np.array([1, 3, 4]))
    dense, whole = reach.kernel(kernel).dense(), kernel.dense()[[1, 3, 4]]
    for row in range(3):
        inside = np.delete([1, 3, 4], row)
        np.testing.assert_allclose(np.delete(dense[row], row, axis=1), whole[row][:, inside])
        np.testing.assert_allclose(dense[row][:, row], 1 - whole[row][:, inside].sum(axis=1))
    assert reach.kernel(kernel) is reach.kernel(kernel)


def test_a_window_keeps_a_slip_kernel_and_cuts_as_any_part_does():
    slip = np.linspace(0.1, 0.9, 30)
    window = Window.around((5, 6), np.array([8]), 1)
    part = window.kernel(SlipKernel((5, 6), slip))
    assert isinstance(part, SlipKernel) and part.shape == (3, 3)
    np.testing.assert_array_equal(part.slip, slip[window.states])
    np.testing.assert_array_equal(window.inside(window.states), np.arange(9))
    reward = Reward(next_state=slip)
    np.testing.assert_array_equal(window.reward(reward).next_state, slip[window.states])
