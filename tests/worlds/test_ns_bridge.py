"""The bridge of RATS, judged by a transport problem and by hand."""

import numpy as np
import pytest
from scipy.optimize import linprog

from replan.model.checks import check_world
from replan.worlds.ns_bridge import PAYS, NSBridge
from replan.worlds.settings import load_setting

LEFT, DOWN, RIGHT, UP = range(4)
START = 2 * 8 + 4
EPSILONS = (0.0, 0.25, 0.5, 0.75, 1.0)


def wasserstein(one, other):
    """The least cost of moving one distribution over the cells to the other, by linear programming."""
    here, there = np.flatnonzero(one), np.flatnonzero(other)
    cost = [abs(a // 8 - b // 8) + abs(a % 8 - b % 8) for a in here for b in there]
    leaves = np.kron(np.eye(len(here)), np.ones(len(there)))
    arrives = np.kron(np.ones(len(here)), np.eye(len(there)))
    return linprog(cost, A_eq=np.vstack([leaves, arrives]), b_eq=[*one[here], *other[there]]).fun


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_world_is_valid_and_its_terminal_cells_hold_and_pay_once(epsilon):
    world = NSBridge(epsilon=epsilon).build()
    assert check_world(world) == []
    assert world.horizon == 9 and world.start == START
    ended = np.flatnonzero(PAYS)
    assert (world.kernel(3).dense()[ended][:, :, ended] == np.eye(len(ended))[:, None, :]).all()
    assert world.reward(2).expected(world.kernel(2))[ended] == pytest.approx(0)


def test_a_move_leads_at_first_where_it_is_meant_to_and_slips_up_and_down_later():
    world = NSBridge(epsilon=0.25).build()  # the meant cell is kept with probability 0.7 right of the middle
    assert np.flatnonzero(world.kernel(0).dense()[START, LEFT]).tolist() == [START - 1]
    late = world.kernel(8).dense()[START]
    assert late[LEFT, [START - 1, START - 8, START + 8]] == pytest.approx([0.7, 0.15, 0.15])
    assert late[UP, [START - 8, START + 8]] == pytest.approx([0.85, 0.15])
    left = world.kernel(8).dense()[START - 1, RIGHT]
    assert left[[START, START - 9, START + 7]] == pytest.approx([0.3, 0.35, 0.35])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_it_drifts_by_a_wasserstein_distance_of_one_in_a_step_until_it_is_there(epsilon):
    world = NSBridge(epsilon=epsilon).build()
    kernels = [world.kernel(t).dense() for t in range(world.horizon)]
    for state in np.flatnonzero(PAYS == 0):
        for action in range(4):
            whole = wasserstein(kernels[0][state, action], kernels[-1][state, action])
            for t in (1, 2, 3):
                moved = wasserstein(kernels[0][state, action], kernels[t][state, action])
                assert moved == pytest.approx(min(t, whole), abs=1e-9)


def test_rewards_shrink_with_time_and_the_kernel_stays_one_object_once_it_is_there():
    world = NSBridge().build()
    right = START + 2  # beside the goal
    assert world.reward(3).expected(world.kernel(0))[right, RIGHT] == pytest.approx(0.9**3)
    assert world.kernel(4) is world.kernel(8)


def test_the_five_settings_span_epsilon():
    names = ("nsbridge-0", "nsbridge-025", "nsbridge-05", "nsbridge-075", "nsbridge-1")
    settings = [load_setting(name) for name in names]
    assert [setting.epsilon for setting in settings] == list(EPSILONS)
    assert all(setting.planning_horizon == 4 for setting in settings)
